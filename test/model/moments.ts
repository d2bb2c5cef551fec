/**
 * When hours on a clock are, found by asking `Intl` what the clock shows every quarter of an hour: another way than the service's
 * (`Temporal`), so that one mistake is not made twice.
 */

const QUARTER_MS = 900_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export type Zone = string;
/** YYYY-MM-DD */
export type LocalDate = string;

/** A moment of a day (milliseconds since the epoch), and the minutes that its clock then shows. */
type Tick = { readonly at: number; readonly minutes: number };

const formats = new Map<Zone, Intl.DateTimeFormat>();
const days = new Map<string, readonly Tick[]>();

/** What the clock of a zone shows at a moment. */
export function clockAt(zone: Zone, at: number): { readonly date: LocalDate; readonly minutes: number } {
  const format = formats.getOrInsertComputed(
    zone,
    () =>
      new Intl.DateTimeFormat('en-CA', {
        ...{ timeZone: zone, hourCycle: 'h23', calendar: 'iso8601' },
        ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
      }),
  );
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const { year = '', month, day, hour, minute } = parts;
  return { date: `${year.padStart(4, '0')}-${month}-${day}`, minutes: Number(hour) * 60 + Number(minute) };
}

/** The quarters of an hour of a day, in the order in which they pass. */
function ticksOf(zone: Zone, date: LocalDate): readonly Tick[] {
  return days.getOrInsertComputed(`${zone} ${date}`, () => {
    const ticks: Tick[] = [];
    // Every zone is at most 14 hours ahead of UTC and 12 behind it.
    const noon = Date.parse(`${date}T12:00:00Z`);
    for (let at = noon - 27 * HOUR_MS; at <= noon + 27 * HOUR_MS; at += QUARTER_MS) {
      const clock = clockAt(zone, at);
      if (clock.date === date) ticks.push({ at, minutes: clock.minutes });
    }
    return ticks;
  });
}

/** The first moment of a day at which its clock shows an hour, or a later one; its end if there is none. `hour` may be 24. */
export function momentOf(zone: Zone, date: LocalDate, hour: number): number {
  const ticks = ticksOf(zone, date);
  const last = ticks.at(-1);
  if (last === undefined) throw new RangeError(`${date} does not exist in ${zone}`);
  return ticks.find(({ minutes }) => minutes >= hour * 60)?.at ?? last.at + QUARTER_MS;
}

/** Whether the clock shows the beginning of an hour on a day. */
export const showsHour = (zone: Zone, date: LocalDate, hour: number): boolean =>
  ticksOf(zone, date).some(({ minutes }) => minutes === hour * 60);

/** The date so many days later. */
export const daysAfter = (date: LocalDate, days: number): LocalDate =>
  new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);

/** The same date so many years later; from 29 February to the last day of February. */
export function yearsAfter(date: LocalDate, years: number): LocalDate {
  const later = `${Number(date.slice(0, 4)) + years}${date.slice(4)}`;
  return Number.isNaN(Date.parse(later)) || new Date(later).toISOString().slice(0, 10) !== later
    ? `${later.slice(0, 4)}-02-28`
    : later;
}

/** 0 for Monday, 6 for Sunday. */
export const weekdayOf = (date: LocalDate): number => (new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7;
