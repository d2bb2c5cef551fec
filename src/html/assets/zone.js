// Sends the reader's time zone to the service, which shows moments that belong to no space in it. Without this file: the community's, or UTC.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const secure = location.protocol === 'https:' ? '; secure' : '';
if (timeZone) {
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API exists only in secure contexts
  document.cookie = `console_zone=${timeZone}; path=/console; max-age=31536000; samesite=lax${secure}`;
}
