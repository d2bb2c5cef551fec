import { maxOf } from './extremes.ts';
import type { PlainDate, Timestamp } from './ids.ts';

/** Dates and hours of a community are wall-clock times in its IANA zone (docs/decisions/time.md). */

const HOUR_MS = 3_600_000;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Whether the text is a real calendar date in the form YYYY-MM-DD; 2026-02-30 is not: `Date` makes it the second of March. */
export const isPlainDate = (text: string): text is PlainDate =>
  DATE.test(text) && new Date(text).getUTCDate() === Number(text.slice(-2));

export const isTimeZone = (zone: string): boolean => {
  try {
    // Offsets such as +02:00 are refused: they have no daylight saving time.
    return /^[A-Za-z]/.test(zone) && new Intl.DateTimeFormat('en', { timeZone: zone }) !== undefined;
  } catch {
    return false;
  }
};

/** A time zone in the spelling of its database: `europe/berlin` → `Europe/Berlin`. Zones that were renamed keep the name that was asked for. */
export const canonicalZone = (zone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId;

/** After the year 9999, ISO 8601 timestamps start with a sign and would sort before all others. */
const LAST_MOMENT_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** Timestamps are compared as text, so they are capped at the end of 9999. */
export const toTimestamp = (milliseconds: number): Timestamp =>
  new Date(Math.min(milliseconds, LAST_MOMENT_MS)).toISOString() as Timestamp;

export const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** 0 for Monday. Without `Temporal`, which takes longer than the rest of a search for open days, or of a plan of many spaces. */
export const weekdayIndex = (date: PlainDate): number => (new Date(date).getUTCDay() + 6) % 7;

export function weekdayOf(date: PlainDate): Weekday {
  const weekday = WEEKDAYS[weekdayIndex(date)];
  if (weekday === undefined) throw new Error(`${date} is on no day of the week`);
  return weekday;
}

/** The dates of a range, both ends inclusive, in order. */
export function* datesBetween(from: PlainDate, to: PlainDate): Generator<PlainDate> {
  const end = Temporal.PlainDate.from(to);
  let date = Temporal.PlainDate.from(from);
  while (Temporal.PlainDate.compare(date, end) <= 0) {
    yield toPlainDate(date);
    date = date.add({ days: 1 });
  }
}

/** The date that is so many days later. */
export const daysLater = (date: PlainDate, days: number): PlainDate =>
  toPlainDate(Temporal.PlainDate.from(date).add({ days }));

/** Whether a date is more than so many years later than another. From 29 February, the years end on 28 February if the last one has no 29th. */
export const isYearsLater = (date: PlainDate, other: PlainDate, years: number): boolean =>
  // Years have four digits, so dates compare as text.
  date > `${String(Number(other.slice(0, 4)) + years).padStart(4, '0')}${other.slice(4)}`;

const DAY_MS = 24 * HOUR_MS;

/** Whether a date is more than so many days later than another. */
export const isDaysLater = (date: PlainDate, other: PlainDate, days: number): boolean =>
  Date.parse(date) - Date.parse(other) > days * DAY_MS;

/** How many days a range has, both ends inclusive; 0 or less if it ends before it starts. */
export const daysIn = (from: PlainDate, to: PlainDate): number =>
  Temporal.PlainDate.from(from).until(Temporal.PlainDate.from(to), { largestUnit: 'days' }).days + 1;

/** A calendar date as the service writes it. */
export const toPlainDate = (date: Temporal.PlainDate): PlainDate => date.toString() as PlainDate;

/** A calendar day in a time zone: from `start` up to, not including, `end` (milliseconds since the epoch). */
export type WallDay = {
  readonly date: PlainDate;
  readonly zone: string;
  readonly start: number;
  readonly end: number;
  /** Between the changes of the clocks, if there are any. On other days every hour occurs once, and no part is needed. */
  readonly parts: readonly DayPart[] | undefined;
};

/** A part of a day without a change of the clocks. */
type DayPart = {
  readonly start: number;
  readonly end: number;
  /** What the clocks show at its start; may be fractional. */
  readonly hour: number;
};

/**
 * Days seen before, and today in each zone. A few of them answer nearly every call, and computing one takes as long as the
 * rest of a request. The number is bounded, and clearing the cache only costs time.
 */
const CACHED_DAYS = 20_000;
const days = new Map<string, WallDay>();
const todays = new Map<string, WallDay>();

/** The day `date` in `zone`. It has 24 hours, except when the clocks change. */
export function wallDay(date: PlainDate, zone: string): WallDay {
  const key = `${date} ${zone}`;
  const cached = days.get(key);
  if (cached !== undefined) return cached;
  const plain = Temporal.PlainDate.from(date);
  const start = plain.toZonedDateTime(zone).epochMilliseconds;
  const end = plain.add({ days: 1 }).toZonedDateTime(zone).epochMilliseconds;
  const day = { date, zone, start, end, parts: end - start === DAY_MS ? undefined : partsBetween(start, end, zone) };
  if (days.size >= CACHED_DAYS) days.clear();
  days.set(key, day);
  return day;
}

function partsBetween(start: number, end: number, zone: string): readonly DayPart[] {
  const parts: DayPart[] = [];
  for (let from = start; from < end; ) {
    const clock = Temporal.Instant.fromEpochMilliseconds(from).toZonedDateTimeISO(zone);
    const until = Math.min(end, clock.getTimeZoneTransition('next')?.epochMilliseconds ?? end);
    parts.push({ start: from, end: until, hour: clock.hour + clock.minute / 60 + clock.second / 3600 });
    from = until;
  }
  return parts;
}

/** The date in `zone` at a moment (milliseconds since the epoch). */
export function localDate(milliseconds: number, zone: string): PlainDate {
  const today = todays.get(zone);
  if (today !== undefined && today.start <= milliseconds && milliseconds < today.end) return today.date;
  const plain = Temporal.Instant.fromEpochMilliseconds(milliseconds).toZonedDateTimeISO(zone).toPlainDate();
  const day = wallDay(toPlainDate(plain), zone);
  todays.set(zone, day);
  return day.date;
}

/** A calendar month, YYYY-MM. */
export const isMonth = (text: string): boolean => /^\d{4}-(?:0[1-9]|1[0-2])$/.test(text);

/** The month (YYYY-MM) that is so many months later. */
export const monthsLater = (month: string, months: number): string =>
  Temporal.PlainYearMonth.from(month).add({ months }).toString();

/** The months (YYYY-MM) of a range, both ends inclusive, in order. None if it ends before it starts. */
export function monthsBetween(from: string, to: string): readonly string[] {
  const { months } = Temporal.PlainYearMonth.from(from).until(to, { largestUnit: 'months' });
  return Array.from({ length: Math.max(0, months + 1) }, (_, index) => monthsLater(from, index));
}

/** The first and the last day of a month (YYYY-MM). */
export function daysOfMonth(month: string): { readonly startDate: PlainDate; readonly endDate: PlainDate } {
  const first = Temporal.PlainYearMonth.from(month).toPlainDate({ day: 1 });
  return { startDate: toPlainDate(first), endDate: toPlainDate(first.with({ day: first.daysInMonth })) };
}

/** The calendar month, YYYY-MM, in `zone` at a moment (milliseconds since the epoch). */
export const localMonth = (milliseconds: number, zone: string): string => localDate(milliseconds, zone).slice(0, 7);

/** Local time of `zone` at a moment, with its offset from UTC: `2026-11-01T00:30:00.000+01:00`. */
export const localTime = (milliseconds: number, zone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(milliseconds)
    .toZonedDateTimeISO(zone)
    .toString({ smallestUnit: 'millisecond', timeZoneName: 'never' });

/**
 * The first moment (milliseconds since the epoch) at which the clock shows `hour` on a day, or a later hour. So an hour that occurs twice
 * means the first, and one that is skipped the moment at which it is (docs/decisions/time.md). `hour` may be fractional, and may be 24.
 */
export function momentOn({ start, end, parts }: WallDay, hour: number): number {
  if (parts === undefined) return start + Math.round(hour * HOUR_MS);
  const part = parts.find((each) => hour < hourAtEnd(each));
  return part === undefined ? end : part.start + Math.max(0, Math.round((hour - part.hour) * HOUR_MS));
}

const hourAtEnd = ({ start, end, hour }: DayPart): number => hour + (end - start) / HOUR_MS;

/**
 * The hour from which on every hour of a day is after a moment: the one that the clock shows, or, while it shows hours for the second time,
 * the one at which it was set back.
 */
export function hourFrom({ start, parts }: WallDay, moment: number): number {
  if (parts === undefined) return (moment - start) / HOUR_MS;
  const begun = parts.filter((part) => part.start <= moment);
  return maxOf(begun.map((part) => Math.min(hourAtEnd(part), part.hour + (moment - part.start) / HOUR_MS)));
}

/** How many hours of a day have begun at a moment (milliseconds since the epoch): 0 to 24. */
export function hoursBegun(day: WallDay, now: number): number {
  if (now < day.start) return 0;
  if (day.parts === undefined) return Math.min(24, Math.floor((now - day.start) / HOUR_MS) + 1);
  let hour = 0;
  while (hour < 24 && momentOn(day, hour) <= now) hour += 1;
  return hour;
}

/** False for an hour that does not begin on a day, because the clocks skip its beginning. */
export const hourBeginsOn = ({ parts }: WallDay, hour: number): boolean =>
  parts === undefined || parts.some((part) => part.hour <= hour && hour < hourAtEnd(part));

/** The zones where a day begins first and ends last: today is between their dates everywhere. */
export const FIRST_ZONE = 'Pacific/Kiritimati';
export const LAST_ZONE = 'Etc/GMT+12';

/**
 * The moment that a text names, in milliseconds since the epoch: ISO 8601 with a time zone (`2026-03-01T12:00:00+01:00`). Undefined
 * if it names none, such as a time without a zone.
 */
export function momentOf(text: string): number | undefined {
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    return undefined;
  }
}

/** Phrased to follow the name of a field. */
export const MOMENT_RULE = 'must be ISO 8601 with a time zone, such as 2026-03-01T12:00:00Z';
