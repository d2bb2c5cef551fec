// Tells the service the reader's time zone. Moments that no space has a clock for are shown in it from the next page on; without
// this file, in UTC.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const secure = location.protocol === 'https:' ? '; secure' : '';
if (timeZone) {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API exists only in secure contexts
  document.cookie = `console_zone=${timeZone}; path=/console; max-age=31536000; samesite=lax${secure}`;
}
