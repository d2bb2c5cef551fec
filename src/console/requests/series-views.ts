import type { BookingDocument } from '../../../projections/bookings.ts';
import { expiryOf } from '../../domain/booking-moments.ts';
import { weekdayOf } from '../../domain/calendar.ts';
import { counted, dayAndMonth, fromNow, hours, momentIn, shortDate, shortened } from '../../html/formats.ts';
import { EMPTY, type Html, html, named } from '../../html/html.ts';
import { stateOf, statusClass, statusIcon } from '../parts/booking-views.ts';
import { csrfField } from '../parts/forms.ts';
import { addressOf } from '../parts/links.ts';
import type { Visit } from '../parts/visit.ts';
import { totalOf } from './bulk-outcomes.ts';
import { type FormPage, listField, mayApprove, NEEDS_AMOUNTS, type Opener } from './decision-forms.ts';

/** Days of a series that a row names, with what is beside them. Its page shows the others. */
export const DAYS_SHOWN = 12;
/** Characters of a name in a row: two lines. */
export const NAME_SHOWN = 56;

/** The page on which the days of a series are decided one by one. */
export const seriesPath = (bookingId: number, list?: string): string =>
  addressOf(`/console/inbox/series/${bookingId}`, { list });

/** The page on which a brand withdraws all requests of a series that wait. */
export const withdrawPath = (bookingId: number): string => `/console/bookings/${bookingId}/withdraw-series`;

type Days = readonly BookingDocument[];

/** The only value that days have in common; undefined if they differ. */
function common<T>(days: Days, factOf: (day: BookingDocument) => T): T | undefined {
  const [value, ...others] = new Set(days.map(factOf));
  return others.length === 0 ? value : undefined;
}

/** `6 Tuesdays`, or `6 days` if they are different ones. */
export function daysText(days: Days): string {
  return counted(days.length, common(days, ({ date }) => weekdayOf(date)) ?? 'day');
}

/** `18:00–22:00`, if all days have the same hours. */
const hoursText = (days: Days): string =>
  common(days, ({ startHour, freeFrom }) => hours(startHour, freeFrom)) ?? 'different hours';

/** Which days, when, where and what else is on them. @param beside the first one on each of the first days */
export function seriesDaysView(days: Days, beside: readonly (BookingDocument | undefined)[]): Html {
  const space = common(days, ({ spaceName }) => spaceName);
  const dates = days.slice(0, DAYS_SHOWN).map((day, index) => {
    const first = beside[index];
    const other =
      first &&
      html` <span class="nowrap">(${hours(first.startHour, first.freeFrom)}</span> ${named(shortened(first.brandName))},
${first.status.toLowerCase()})`;
    return html`<li><time class="nowrap" datetime="${day.date}">${dayAndMonth(day.date)}</time>${other}</li>`;
  });
  const more = days.length - dates.length;
  return html`<div class="what"><p>${daysText(days)}, <span class="nowrap">${hoursText(days)}</span></p>
<p class="space">${space === undefined ? 'Several spaces' : named(shortened(space, NAME_SHOWN))}</p>
<ul class="series-days small muted">${dates}${more > 0 && html`<li>and ${more} more</li>`}</ul></div>`;
}

/** What the days earn together, and when the first of them expires. @param now undefined once all are answered */
export function seriesTermsView({ amount }: Pick<Visit, 'amount'>, days: Days, now: number | undefined): Html {
  const [first] = days.toSorted((a, b) => expiryOf(a) - expiryOf(b));
  const expiry = first && expiryOf(first);
  return html`<div class="terms">${
    amount &&
    html`<p>You earn <strong>${totalOf(days, amount, 'eventFee')}</strong><br>
<span class="muted small">The brand pays <span class="nowrap">${totalOf(days, amount)}</span></span></p>`
  }${
    now !== undefined &&
    first &&
    expiry !== undefined &&
    html`<p class="small">${
      expiry > now ? html`The first expires <strong class="nowrap">${fromNow(expiry, now)}</strong>` : 'Expired'
    } <span class="muted nowrap">${momentIn(first.timeZone, expiry)}</span></p>`
  }</div>`;
}

/** The ids of the requests of a row, as one value of a form. */
export const idsOf = (days: Days): string => days.map(({ bookingId }) => bookingId).join('.');

/** The buttons that answer all requests of a series, and the link to its days. Those that expire meanwhile are named in the answer. */
export function seriesForms(visit: SeriesVisit, key: number, days: Days, formPage: FormPage): Html {
  const decline = declineSeries(visit, key, days, formPage);
  return html`<div class="decide">${approveSeries(visit, key, days)}${decline.button}
<a class="small about-brand" href="${seriesPath(key, formPage.list)}"
aria-label="Day by day, request #${key} and its series">Day by day</a></div>${decline.ask}`;
}

type SeriesVisit = Pick<Visit, 'csrf' | 'now' | 'amount' | 'settings'>;

/** The button that approves all requests of a series, or why they cannot be approved. */
function approveSeries(visit: SeriesVisit, key: number, days: Days): Html {
  const why = days.every((day) => expiryOf(day) <= visit.now)
    ? 'The time to answer is over. The requests are being cancelled.'
    : !days.every((day) => mayApprove(visit, day)) && NEEDS_AMOUNTS;
  return why ? html`<p class="small">${why}</p>` : seriesButton('Approve all', key, days);
}

/** The button that declines all requests of a series, and the form that it belongs to. A reason is asked for on a page of its own. */
export const declineSeries = (visit: Pick<Visit, 'csrf'>, key: number, days: Days, { list }: FormPage): Opener => ({
  button: seriesButton('Decline all…', key, days, html` formaction="/console/inbox/decline" data-decline-all`),
  ask: html`<form id="${formOf(key)}" method="post" action="/console/inbox/approve">${csrfField(visit)}${listField(list)}</form>`,
});

const formOf = (key: number): string => `series-${key}`;

const seriesButton = (label: string, key: number, days: Days, attributes = EMPTY): Html =>
  html`<button class="button small quiet" form="${formOf(key)}" name="id" value="${idsOf(days)}"${attributes}
aria-label="${label}, request #${key} and its series">${label}</button>`;

/** What became of a series that has been answered: `4 approved, 2 declined`. */
export const outcomesText = (days: Days): string =>
  [...Map.groupBy(days, stateOf)].map(([state, of]) => `${of.length} ${state.toLowerCase()}`).join(', ');

/** The days of a series as links, each with what became of it. */
export const dayLinks = (days: Days, current: number): Html =>
  html`<ul class="chips">${days.map(
    (day) =>
      html`<li><a class="chip ${statusClass(day.status)}" href="/console/bookings/${day.bookingId}"${
        day.bookingId === current && html` aria-current="page"`
      }>${statusIcon(day)}<span class="visually-hidden">${stateOf(day)}: </span>${shortDate(day.date)}</a></li>`,
  )}</ul>`;
