import type { PlainDate, Timestamp } from './ids.ts';

/** Dates and hours of a community are wall-clock times in its IANA zone (DESIGN §7, time zone). */

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** A date of the real calendar, written YYYY-MM-DD; 2026-02-30 is none. */
export function isPlainDate(text: string): text is PlainDate {
  if (!DATE.test(text)) return false;
  const parsed = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
}

export const isTimeZone = (zone: string): boolean => {
  try {
    // Offsets such as +02:00 are refused: they know no daylight saving time.
    return /^[A-Za-z]/.test(zone) && new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined;
  } catch {
    return false;
  }
};

export const toTimestamp = (milliseconds: number): Timestamp => new Date(milliseconds).toISOString() as Timestamp;

/** The date on the wall of `zone` at a moment (milliseconds since the epoch). */
export function localDate(milliseconds: number, zone: string): PlainDate {
  const day = Temporal.Instant.fromEpochMilliseconds(milliseconds).toZonedDateTimeISO(zone).toPlainDate();
  return day.toString() as PlainDate;
}

/**
 * The moment (milliseconds since the epoch) at which the clock of `zone` shows `hour` on `date`. `hour` may be fractional
 * and may be 24. Of an hour that comes twice the first is meant; one that is skipped gives the moment the clock jumps to.
 */
export function momentOf(date: PlainDate, hour: number, zone: string): number {
  const minutes = Math.round(hour * 60);
  const time = Temporal.PlainDate.from(date).toPlainDateTime().add({ minutes });
  return time.toZonedDateTime(zone).epochMilliseconds;
}

/** False for the hour that daylight saving time skips. */
export function hourExists(date: PlainDate, hour: number, zone: string): boolean {
  const moment = Temporal.Instant.fromEpochMilliseconds(momentOf(date, hour, zone)).toZonedDateTimeISO(zone);
  return moment.hour === Math.floor(hour);
}
