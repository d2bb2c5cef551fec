import type { BookingDocument } from '../../../projections/bookings.ts';
import { expiryOf } from '../../domain/booking-moments.ts';
import { daysLater, localDate, toTimestamp } from '../../domain/calendar.ts';
import type { BookingId, PlainDate } from '../../domain/ids.ts';
import { counted, dayAndMonth, fromNow, hours, momentIn, shortDate, shortened } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { ComingOn } from '../../queries/overview.ts';
import type { Queries } from '../../queries/queries.ts';
import { unreadMark } from '../parts/booking-views.ts';
import type { CommunityVisit } from '../parts/visit.ts';

/** Requests that wait, and bookings of a day, on the first page of a community. */
const MOST_LISTED = 5;
const DAY_MS = 24 * 3_600_000;

/** The requests whose deadline is next, and how many expire within a day. */
export async function waitingView({ requests, overview }: Queries, visit: CommunityVisit): Promise<Html> {
  const { account, now } = visit;
  const [first, count, expiring] = await Promise.all([
    requests.pending(account.id, {}, { order: 'deadline', limit: MOST_LISTED }),
    requests.count(account.id, {}),
    overview.expiring(account.id, toTimestamp(now + DAY_MS)),
  ]);
  return html`<section class="card"><h2>Waiting for an answer</h2>${
    count === 0
      ? html`<p class="muted">No request is waiting.</p>`
      : html`<p>${counted(count, 'request')}, ${expiring === 0 ? 'none' : html`<strong>${expiring}</strong>`} of them
with less than a day left.</p>
<ul class="brief" role="list">${first.map((request) => waitingItem(visit, request))}</ul>
<p><a href="/console/inbox">All requests</a></p>`
  }</section>`;
}

const waitingItem = ({ now, amount }: CommunityVisit, booking: BookingDocument): Html => html`<li>
<a href="/console/bookings/${booking.bookingId}">${named(shortened(booking.brandName))}</a>
<span>${named(shortened(booking.spaceName))}, ${shortDate(booking.date)} ${hours(booking.startHour, booking.freeFrom)}${
  amount && `,\n${amount(booking.totalPrice, booking.currency)}`
}</span>
<span class="small">Expires <strong class="nowrap">${fromNow(expiryOf(booking), now)}</strong>
<span class="muted nowrap">${momentIn(booking.timeZone, expiryOf(booking))}</span></span></li>`;

/** Who comes today and tomorrow, and what is still open. */
export async function comingView({ overview, threads }: Queries, visit: CommunityVisit): Promise<Html> {
  const { account, accountZone, now, user } = visit;
  const today = localDate(now, accountZone);
  const days = [
    { label: 'Today', date: today },
    { label: 'Tomorrow', date: daysLater(today, 1) },
  ];
  const [ids, coming] = await Promise.all([
    threads.unread(account, user.read ?? {}),
    Promise.all(days.map(async (day) => ({ day, of: await overview.comingOn(account.id, day.date, MOST_LISTED) }))),
  ]);
  const unread = new Set(ids);
  return html`<section class="card"><h2>Who comes</h2>${coming.map(({ day, of }) => dayView(day, of, unread))}</section>`;
}

function dayView(
  { label, date }: { readonly label: string; readonly date: PlainDate },
  of: ComingOn,
  unread: ReadonlySet<BookingId>,
): Html {
  const open = [
    of.pending > 0 && `${counted(of.pending, 'request')} unanswered`,
    of.withoutGuests > 0 && `${counted(of.withoutGuests, 'booking')} without a number of guests`,
  ].filter((one) => one !== false);
  const more = of.count - of.first.length;
  return html`<h3><a href="/console/calendar/${date}">${label}, ${dayAndMonth(date)}</a></h3>
${of.count === 0 && html`<p class="muted">No bookings.</p>`}
${open.length > 0 && html`<p class="small">Still open: ${open.join(', ')}.</p>`}
${of.count > 0 && html`<ul class="brief" role="list">${of.first.map((booking) => comingItem(booking, unread.has(booking.bookingId)))}</ul>`}
${more > 0 && html`<p class="small"><a href="/console/calendar/${date}">${more} more</a></p>`}`;
}

const comingItem = (booking: BookingDocument, hasUnread: boolean): Html => html`<li>
<a href="/console/bookings/${booking.bookingId}">${named(shortened(booking.brandName))}</a>
<span>${hours(booking.startHour, booking.freeFrom)}, ${named(shortened(booking.spaceName))}</span>
<span class="small muted">${booking.guests === undefined ? 'Guests unknown' : counted(booking.guests, 'guest')}</span>${
  hasUnread && unreadMark
}</li>`;
