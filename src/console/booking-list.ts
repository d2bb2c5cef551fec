import type { Account } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { keysOf } from '../domain/keys-of.ts';
import { BOOKING_STATUSES, type BookingStatus } from '../domain/space-day.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { bookingPager, bookingTable, cursorOf } from './booking-views.ts';
import type { PageDeps } from './page-deps.ts';
import { addressOf } from './pager.ts';
import { tabs } from './tabs.ts';
import type { Routes } from './visit.ts';

const PATH = '/console/bookings';
const PER_PAGE = 30;

const WHEN = { upcoming: 'Upcoming', past: 'Past' } as const;
type When = keyof typeof WHEN;

/** The list of an account's bookings. */
export function bookingListPages(routes: Routes, { queries }: PageDeps): void {
  routes.get('/console/bookings', async (visit) => {
    const { account, query } = visit;
    const when: When = query.text('when') === 'past' ? 'past' : 'upcoming';
    const status = BOOKING_STATUSES.find((known) => known === query.text('status'));
    const community = account.kind === 'Community' ? await queries.spaces.community(account.id) : undefined;
    const { bookings, ...beside } = await queries.bookings.page(account, {
      period: { is: when, now: visit.now, ...defined({ zone: community?.timeZone }) },
      ...defined({ status }),
      direction: when === 'upcoming' ? 'ascending' : 'descending',
      limit: PER_PAGE,
      ...cursorOf(query),
    });
    const title = account.kind === 'Community' ? 'Bookings' : 'My bookings';
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
          : html`${bookingTable(bookings, account, `${WHEN[when]} bookings, in each space’s local time`)}${bookingPager(PATH, { when, status }, beside)}`
      }</div>`,
    };
  });
}

const address = (when: When, status: BookingStatus | undefined): string => addressOf(PATH, { when, status });

function empty(account: Account, when: When, status: BookingStatus | undefined): Html {
  const kind = `${when} ${status === undefined ? '' : `${status.toLowerCase()} `}bookings`;
  return account.kind === 'Community'
    ? html`<div class="empty">${icon('list')}<h2>No ${kind}</h2><p>Bookings appear here as soon as a brand requests one of your spaces.</p><a class="button" href="/console/spaces">View your spaces</a></div>`
    : html`<div class="empty">${icon('list')}<h2>No ${kind}</h2><p>Find a space, choose a date and a start time, and send a request.</p><a class="button" href="/console/find">Find a space</a></div>`;
}
