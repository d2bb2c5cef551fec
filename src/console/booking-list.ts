import type { Account } from '../domain/account.ts';
import { localDate } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { keysOf } from '../domain/keys-of.ts';
import { BOOKING_STATUSES, type BookingStatus } from '../domain/space-day.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { bookingTable, cursorOf, nextPage } from './booking-views.ts';
import type { PageDeps } from './page-deps.ts';
import { tabs } from './tabs.ts';
import type { Routes } from './visit.ts';

const PER_PAGE = 30;

const WHEN = { upcoming: 'Upcoming', past: 'Past' } as const;
type When = keyof typeof WHEN;

/** The list of an account's bookings. */
export function bookingListPages(routes: Routes, { queries }: PageDeps): void {
  routes.get('/console/bookings', async (visit) => {
    const { account, query } = visit;
    const when: When = query.text('when') === 'past' ? 'past' : 'upcoming';
    const status = BOOKING_STATUSES.find((known) => known === query.text('status'));
    // UTC-12 is the last zone to reach a new day: a booking dated today in any zone counts as upcoming.
    const today = localDate(visit.now, 'Etc/GMT+12');
    const { bookings, next } = await queries.bookings.page(account, {
      ...(when === 'upcoming' ? { startDate: today } : { endDate: today }),
      ...defined({ status }),
      direction: when === 'upcoming' ? 'ascending' : 'descending',
      limit: PER_PAGE,
      ...cursorOf(query),
    });
    const title = account.kind === 'Community' ? 'Bookings' : 'My bookings';
    const href = address(when, status);
    return {
      title,
      section: 'bookings',
      main: html`<div class="head"><h1>${title}</h1></div>
<div class="row apart"><nav aria-label="Period">${tabs(keysOf(WHEN).map((one) => ({ label: WHEN[one], href: address(one, status), current: one === when })))}</nav>
<nav aria-label="Status">${tabs([
        { label: 'All', href: address(when, undefined), current: status === undefined },
        ...BOOKING_STATUSES.map((one) => ({ label: one, href: address(when, one), current: one === status })),
      ])}</nav></div>
<div class="stack full" id="bookings" data-live-region>${
        bookings.length === 0
          ? empty(account, when, status)
          : html`${bookingTable(bookings, account, `${WHEN[when]} bookings, in each space’s local time`)}${nextPage(query, href, next)}`
      }</div>`,
    };
  });
}

const address = (when: When, status: BookingStatus | undefined): string =>
  `/console/bookings?when=${when}${status === undefined ? '' : `&status=${status}`}`;

function empty(account: Account, when: When, status: BookingStatus | undefined): Html {
  const kind = `${when} ${status === undefined ? '' : `${status.toLowerCase()} `}bookings`;
  return account.kind === 'Community'
    ? html`<div class="empty">${icon('list')}<h2>No ${kind}</h2><p>Bookings appear here as soon as a brand requests one of your spaces.</p><a class="button" href="/console/spaces">View your spaces</a></div>`
    : html`<div class="empty">${icon('list')}<h2>No ${kind}</h2><p>Find a space, choose a date and a start time, and send a request.</p><a class="button" href="/console/find">Find a space</a></div>`;
}
