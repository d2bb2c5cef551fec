// In a calendar that a website embeds: tells the page around it how high the calendar is.
new ResizeObserver(() => {
  // The height of the document is never less than that of its frame.
  parent.postMessage({ venueHeight: Math.ceil(document.body.getBoundingClientRect().bottom) + 1 }, '*');
}).observe(document.body);
