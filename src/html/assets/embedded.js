// In a calendar that a website embeds: tells the page around it how high the calendar is.
// Not the height of the document or its body, which are never less than that of the frame.
const main = document.querySelector('main');
new ResizeObserver(() => {
  parent.postMessage({ venueHeight: Math.ceil(main.getBoundingClientRect().bottom + scrollY) }, '*');
}).observe(main, { box: 'border-box' });
