import { isPlainDate } from '../../domain/calendar.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { longDate, monthName } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import { weeksTable } from '../parts/month-days.ts';

/** A month of a space: which days are free. @param link where a free day leads, and whether that opens a page of its own */
export function freeDaysTable(
  month: string,
  today: PlainDate,
  free: ReadonlySet<PlainDate>,
  link: { hrefOf(date: PlainDate): string; readonly opens?: boolean },
): Html {
  const cell = (date: PlainDate): Html => {
    if (!date.startsWith(month) || !isPlainDate(date)) return html`<td></td>`;
    const day = Number(date.slice(8));
    if (date < today) return html`<td class="over">${day}<span class="visually-hidden">, over</span></td>`;
    if (!free.has(date))
      return html`<td class="taken"><s>${day}</s><span class="visually-hidden">, not free</span></td>`;
    const label = html`<span aria-hidden="true">${day}</span><span class="visually-hidden">${longDate(date)}, free</span>`;
    return html`<td><a href="${link.hrefOf(date)}"${link.opens && html` target="_blank" rel="noopener"`}>${label}</a></td>`;
  };
  return html`${weeksTable(month, { classes: 'free-days', caption: html`<caption>${monthName(month)}</caption>`, cell })}
<p class="muted small">Days with a link have a free time. Crossed out: not free.</p>`;
}
