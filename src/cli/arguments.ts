import { InvalidArgumentError } from '@commander-js/extra-typings';
import {
  isMonth,
  isPlainDate,
  MOMENT_RULE,
  momentOf,
  toTimestamp,
  WEEKDAYS,
  type Weekday,
} from '../domain/calendar.ts';
import type { Cents, PlainDate, Timestamp } from '../domain/ids.ts';
import { keysOf } from '../domain/keys-of.ts';
import { type Flags, listOf } from '../domain/limits.ts';
import { parseAmount } from '../domain/pricing.ts';

/** Parsers for command-line arguments. Each throws `InvalidArgumentError` with the rule that the argument breaks. */

export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

export function fromOne(text: string): number {
  const number = wholeNumber(text);
  if (number === 0) throw new InvalidArgumentError('It must be at least 1.');
  return number;
}

/** A sum of flags, or their names with commas between them. The domain checks which sums are allowed. */
export const sumOrNames =
  (flags: Flags) =>
  (text: string): number => {
    if (/^\d{1,15}$/.test(text)) return Number(text);
    const names = text.split(',');
    const chosen = keysOf(flags).filter((name) => names.includes(String(name)));
    if (chosen.length !== new Set(names).size)
      throw new InvalidArgumentError(
        `It must be a sum of these values, or their names separated by commas: ${listOf(flags)}.`,
      );
    return chosen.reduce((sum, name) => sum + (flags[name] ?? 0), 0);
  };

export function decimal(text: string): number {
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError('It must be a number such as 2.5.');
  return Number(text);
}

/** An amount with at most two decimals, converted to cents without rounding. */
export function amount(text: string): Cents {
  const parsed = parseAmount(text);
  if (parsed === undefined)
    throw new InvalidArgumentError('It must be an amount with at most two decimals, such as 420.00.');
  return parsed;
}

/** Two hours on the 24-hour clock, such as `9-22`. */
export function hours(text: string): { readonly windowStart: number; readonly windowEnd: number } {
  const [, start, end] = /^(\d{1,2})-(\d{1,2})$/.exec(text) ?? [];
  if (start === undefined || end === undefined)
    throw new InvalidArgumentError('It must be two whole hours such as 9-22.');
  return { windowStart: Number(start), windowEnd: Number(end) };
}

/** `mo`, `mo-fr`: the numbers of the days, 0 for Monday. */
export function daysNamed(text: string): readonly number[] {
  const [first = '', last = first, ...more] = text.split('-');
  const [from, to] = [weekdayNamed(first), weekdayNamed(last)];
  if (more.length > 0 || from > to)
    throw new InvalidArgumentError(`“${text}” must be one or two weekdays in order, such as mo-fr.`);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

function weekdayNamed(text: string): number {
  const day = WEEKDAYS.findIndex((name) => text.length >= 2 && name.toLowerCase().startsWith(text.toLowerCase()));
  if (day === -1) throw new InvalidArgumentError(`“${text}” is no weekday: write mo, tu, we, th, fr, sa or su.`);
  return day;
}

/** `sa,su`, `mo-we,fr`. */
export const weekdays = (text: string): Weekday[] => {
  const days = new Set(text.split(',').flatMap((part) => daysNamed(part.trim())));
  return WEEKDAYS.filter((_, day) => days.has(day));
};

export function date(text: string): PlainDate {
  if (!isPlainDate(text)) throw new InvalidArgumentError('It must be a date in the form YYYY-MM-DD.');
  return text;
}

export function month(text: string): string {
  if (!isMonth(text)) throw new InvalidArgumentError('It must be a month in the form YYYY-MM.');
  return text;
}

/** An ISO 8601 timestamp with a time zone, or a date (midnight UTC). */
export function moment(text: string): Timestamp {
  if (isPlainDate(text)) return toTimestamp(Date.parse(text));
  const milliseconds = momentOf(text);
  if (milliseconds === undefined) throw new InvalidArgumentError(`It ${MOMENT_RULE}.`);
  return toTimestamp(milliseconds);
}
