// In a calendar that a website embeds: tells the page around it how high the calendar is.
new ResizeObserver(() => {
  parent.postMessage({ venueHeight: document.documentElement.scrollHeight }, '*');
}).observe(document.body);
