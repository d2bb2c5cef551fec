import { daysLater, isPlainDate } from './calendar.ts';
import type { PlainDate } from './ids.ts';

/** How often an event is repeated. */
type SeriesStep = 'week' | 'month';

/** Days that one series may have. */
export const MAX_SERIES_DAYS = 100;

/** A day of a series, or one that no calendar has: `2027-02-29`. */
export type SeriesDay = { readonly date: PlainDate } | { readonly missing: string };

/**
 * The days of a series in their order, at most one more than {@link MAX_SERIES_DAYS}. Every month: the same day of each month, and those
 * that have none are listed as missing.
 * @param until inclusive
 */
export function seriesDays(from: PlainDate, every: SeriesStep, until: PlainDate): readonly SeriesDay[] {
  const days: SeriesDay[] = [];
  for (let step = 0; days.length <= MAX_SERIES_DAYS; step += 1) {
    const text = every === 'week' ? daysLater(from, 7 * step) : monthsLater(from, step);
    if (text > until) break;
    days.push(isPlainDate(text) ? { date: text } : { missing: text });
  }
  return days;
}

/** The same day some months later, as text: there may be no such day. */
function monthsLater(date: PlainDate, months: number): string {
  const [year = 0, month = 0] = date.split('-').map(Number);
  const count = year * 12 + month - 1 + months;
  const written = [String(Math.floor(count / 12)).padStart(4, '0'), String((count % 12) + 1).padStart(2, '0')];
  return [...written, date.slice(8)].join('-');
}
