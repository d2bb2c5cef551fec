import { isMonth, isPlainDate } from '../../domain/calendar.ts';
import type { DateRange } from '../../domain/date-range.ts';
import { defined } from '../../domain/defined.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { monthName, pad, shortDate } from '../../html/formats.ts';

/**
 * DateRange and moments as people type them. Every field shows them as the pages do (`Fri 20 Nov 2026`), where a native date field
 * would follow the browser's language and show 11/12/2026 to one reader and 12/11/2026 to another.
 */

const MONTHS = 'january february march april may june july august september october november december'.split(' ');
const WEEKDAY = /^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,?\s+/i;
const FORMATS = [
  // Unambiguous, because the year comes first.
  /^(?<year>\d{4})[-/](?<month>\d{1,2})[-/](?<day>\d{1,2})$/,
  // Unambiguous, because with full stops the day comes first.
  /^(?<day>\d{1,2})\.\s?(?<month>\d{1,2})\.\s?(?<year>\d{4})$/,
];
/** `20 Nov 2026`, `20. November, 2026`: after a weekday or not. */
const IN_WORDS = /^(?<day>\d{1,2})\.?\s+(?<month>[a-z]{3,9})\.?,?\s+(?<year>\d{4})$/i;
/** The day or the month first, as each country has it. */
const WITH_SLASHES = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/;

/**
 * The problem of the month in an address, if it is invalid.
 * @param shown the month that is shown
 */
export const monthProblem = (typed: string, month: string): Readonly<Record<string, string>> =>
  typed === '' || isMonth(typed)
    ? {}
    : { '': `“${typed}” is not a month such as 2026-11. This is ${monthName(month)}.` };

/** The parsed value, or its problem. */
type Parsed<T> =
  | (T & { readonly problem?: undefined })
  | ({ readonly [F in keyof T]?: undefined } & { readonly problem: string });

export function readDate(text: string): Parsed<{ readonly date: PlainDate }> {
  const typed = text.trim();
  const readings = readingsOf(typed);
  if (readings.length > 1)
    return { problem: `“${typed}” can be read in two ways. Write a date such as 20 Nov 2026 or 2026-11-20.` };
  const parts = readings[0] ?? partsOf(typed);
  if (parts === undefined) return { problem: 'Write a date such as 20 Nov 2026 or 2026-11-20.' };
  const { year, month, day } = parts;
  const date = [year, pad(month), pad(day)].join('-');
  if (isPlainDate(date)) return { date };
  const isMonth = month >= 1 && month <= 12;
  return { problem: `There is no ${isMonth ? `${day} ${monthName(`${year}-${pad(month)}`)}` : typed}.` };
}

type Parts = { readonly year: string; readonly month: number; readonly day: number };

/** The readings of a date with slashes whose month exists: two, if both numbers may be the month. One of them, if neither may. */
function readingsOf(typed: string): readonly Parts[] {
  const [, first, second, year] = WITH_SLASHES.exec(typed) ?? [];
  if (year === undefined) return [];
  const [a, b] = [Number(first), Number(second)];
  const dayFirst = { year, month: b, day: a };
  if (a === b) return [dayFirst];
  const readings = [dayFirst, { year, month: a, day: b }].filter(({ month }) => month >= 1 && month <= 12);
  return readings.length === 0 ? [dayFirst] : readings;
}

function partsOf(typed: string): Parts | undefined {
  const matches = [...FORMATS.map((format) => format.exec(typed)), IN_WORDS.exec(typed.replace(WEEKDAY, ''))];
  const parts = matches.find((match) => match !== null)?.groups;
  const { year = '', month: word = '', day } = parts ?? {};
  const month = /^\d/.test(word) ? Number(word) : monthOf(word);
  return month === undefined ? undefined : { year, month, day: Number(day) };
}

/** 1 to 12: `Nov`, `November`, and `Sept`. */
function monthOf(word: string): number | undefined {
  const letters = word.toLowerCase();
  const index = MONTHS.findIndex((name) => [name, name.slice(0, 3), name.slice(0, 4)].includes(letters));
  return index === -1 ? undefined : index + 1;
}

/**
 * Reads a first and a last day, either of which may be left empty.
 * @returns the inclusive range, and what is wrong by field
 */
export function readRange({ from, to }: { readonly from: string; readonly to: string }): {
  readonly dates: DateRange;
  readonly problems: { readonly from?: string; readonly to?: string };
} {
  const read = (text: string) => (text === '' ? undefined : readDate(text));
  const [first, last] = [read(from), read(to)];
  const dates = defined({ startDate: first?.date, endDate: last?.date });
  const isBackwards = first?.date !== undefined && last?.date !== undefined && last.date < first.date;
  return {
    dates,
    problems: defined({
      from: first?.problem,
      to: last?.problem ?? (isBackwards ? 'The last day is before the first.' : undefined),
    }),
  };
}

/** A typed date as YYYY-MM-DD; what was typed, if it is not a date. */
export const asPlainDate = (typed: string): string => readDate(typed).date ?? typed;

/** A date as its field shows it; what was typed, if it is not a date. */
export function shownInField(typed: string): string {
  const { date } = readDate(typed);
  return date === undefined ? typed : shortDate(date);
}

/** `09:30` at the end of `20 Nov 2026, 09:30`, `09:30:15` at the end of `2026-11-20T09:30:15`: the time on the 24-hour clock. */
const TIME = /[T\s](\d{1,2}):(\d{2})(?::(\d{2}))?$/;

/** Reads a typed date and time, without a time zone. */
export function readMoment(text: string): Parsed<{ readonly time: string }> {
  const typed = text.trim();
  const [time = '', hour = '', minute = '', second = '00'] = TIME.exec(typed) ?? [];
  const day = typed.slice(0, -time.length).trimEnd().replace(/,$/, '');
  if (time === '' || day === '') return { problem: 'Write a date and a time such as 20 Nov 2026, 09:30.' };
  const read = readDate(day);
  if (read.date === undefined) return read;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
    return { problem: `There is no ${time.slice(1)} on the clock: write a time from 00:00 to 23:59.` };
  return { time: `${read.date}T${hour.padStart(2, '0')}:${minute}:${second}` };
}

/** A date and time as its field shows it; what was typed, if it is neither. */
export function momentInField(typed: string): string {
  const read = readMoment(typed);
  if (read.time === undefined) return typed;
  const [date = '', time = ''] = read.time.split('T');
  return `${shortDate(date)}, ${time.replace(/:00$/, '')}`;
}
