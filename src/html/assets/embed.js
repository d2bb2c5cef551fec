// For websites: puts the calendar of a space into each <div data-venue-space="7">, as high as it is.
{
  const { origin } = new URL(document.currentScript.src);
  const frames = new Set();
  for (const place of document.querySelectorAll('[data-venue-space]')) {
    if (place.querySelector('iframe')) continue;
    const frame = document.createElement('iframe');
    frame.src = `${origin}/embed/${encodeURIComponent(place.dataset.venueSpace)}`;
    frame.title = place.dataset.venueTitle ?? 'Free days';
    frame.loading = 'lazy';
    frame.style.cssText = 'border: 0; width: 100%; height: 26rem';
    frames.add(frame);
    place.append(frame);
  }
  addEventListener('message', ({ source, origin: from, data }) => {
    const height = Number(data?.venueHeight);
    if (from !== origin || !(height > 0)) return;
    for (const frame of frames) if (frame.contentWindow === source) frame.style.height = `${Math.ceil(height)}px`;
  });
}
