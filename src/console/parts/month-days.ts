import { isPlainDate, toPlainDate } from '../../domain/calendar.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { type Html, html } from '../../html/html.ts';

const SHORT_WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

const mondayOf = (day: Temporal.PlainDate): Temporal.PlainDate => day.subtract({ days: day.dayOfWeek - 1 });

/** Monday to Sunday of the week of a date. The calendar ends with the year 9999, in the middle of a week. */
export function weekOf(date: PlainDate): readonly PlainDate[] {
  const monday = mondayOf(Temporal.PlainDate.from(date));
  return Array.from({ length: 7 }, (_, index) => toPlainDate(monday.add({ days: index }))).filter(isPlainDate);
}

/** Every day of the weeks (starting on Monday) that a month touches. */
export function daysOf(month: string): PlainDate[] {
  const first = Temporal.PlainDate.from(`${month}-01`);
  const start = mondayOf(first);
  const weeks = Math.ceil((first.dayOfWeek - 1 + first.daysInMonth) / 7);
  return Array.from({ length: weeks * 7 }, (_, index) => toPlainDate(start.add({ days: index })));
}

/** The same by weeks. */
function weeksOf(month: string): PlainDate[][] {
  const days = daysOf(month);
  return Array.from({ length: days.length / 7 }, (_, week) => days.slice(week * 7, week * 7 + 7));
}

/** The weeks of a month as a table. @param table `cell`: a `td` for each day, also of those of the months beside it */
export const weeksTable = (
  month: string,
  { classes, caption, cell }: { readonly classes: string; readonly caption: Html; cell(day: PlainDate): Html },
): Html => html`<table class="${classes}">${caption}
<thead><tr>${SHORT_WEEKDAYS.map((day) => html`<th scope="col">${day}</th>`)}</tr></thead>
<tbody>${weeksOf(month).map((week) => html`<tr>${week.map(cell)}</tr>\n`)}</tbody></table>`;
