import { isTimeZone } from '../../domain/calendar.ts';
import { createLruCache } from '../../event-loop/lru-cache.ts';

/** The cookie in which a script of every page stores the reader's time zone (`html/assets/zone.js`). */
export const ZONE_COOKIE = 'console_zone';

const zones = createLruCache<string, string>(1_000);

/** The reader's time zone, under its canonical name. UTC if the cookie is missing or wrong. */
export function readerZone(cookie: string | undefined): string {
  if (cookie === undefined || cookie.length > 64) return 'UTC';
  let zone = zones.get(cookie);
  if (zone === undefined) {
    zone = isTimeZone(cookie) ? new Intl.DateTimeFormat('en', { timeZone: cookie }).resolvedOptions().timeZone : 'UTC';
    zones.set(cookie, zone);
  }
  return zone;
}
