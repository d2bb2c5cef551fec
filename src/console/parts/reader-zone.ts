import { isTimeZone } from '../../domain/calendar.ts';
import { createLruCache } from '../../runtime/lru-cache.ts';

/** Where the script of every page leaves the reader's time zone (`html/assets/zone.js`). */
export const ZONE_COOKIE = 'console_zone';

const zones = createLruCache<string, string>(1_000);

/** The time zone of whoever reads a page, under the name that is its own; UTC if nobody has told. */
export function readerZone(told: string | undefined): string {
  if (told === undefined || told.length > 64) return 'UTC';
  let zone = zones.get(told);
  if (zone === undefined) {
    zone = isTimeZone(told) ? new Intl.DateTimeFormat('en', { timeZone: told }).resolvedOptions().timeZone : 'UTC';
    zones.set(told, zone);
  }
  return zone;
}
