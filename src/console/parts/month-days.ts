import { toPlainDate } from '../../domain/calendar.ts';
import type { PlainDate } from '../../domain/ids.ts';

export const SHORT_WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** Every day of the weeks (starting on Monday) that a month touches. */
export function daysOf(month: string): PlainDate[] {
  const first = Temporal.PlainDate.from(`${month}-01`);
  const start = first.subtract({ days: first.dayOfWeek - 1 });
  const weeks = Math.ceil((first.dayOfWeek - 1 + first.daysInMonth) / 7);
  return Array.from({ length: weeks * 7 }, (_, index) => toPlainDate(start.add({ days: index })));
}

/** The same by weeks. */
export function weeksOf(month: string): PlainDate[][] {
  const days = daysOf(month);
  return Array.from({ length: days.length / 7 }, (_, week) => days.slice(week * 7, week * 7 + 7));
}
