import { localMonth } from '../../domain/calendar.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import type { PageContent } from '../parts/answer.ts';
import { bookingTable } from '../parts/booking-views.ts';
import { buttonLink, START_PAGE } from '../parts/frame.ts';
import { otherPartyOf } from '../parts/other-party.ts';
import { stars } from '../parts/review-views.ts';
import { isOfKind, type PageDeps, type Routes } from '../parts/routes.ts';
import type { CommunityVisit, Visit } from '../parts/visit.ts';
import { comingView, waitingView } from './day-lists.ts';
import { moneyByMonth } from './month-plot.ts';
import { occupancyView } from './occupancy-view.ts';

/** Bookings in each list of a brand. */
const MOST_LISTED = 5;

/** The first page of an account: what comes next, what waits, and the money of the last months. */
export function overviewPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(START_PAGE.href, 'Viewer', async (visit): Promise<PageContent> => {
    const isCommunity = isOfKind(visit, 'Community');
    const main = await (isCommunity ? ofCommunity(visit) : ofBrand(visit));
    return {
      title: START_PAGE.label,
      isCounted: isCommunity,
      main: html`<div class="overview" id="overview" data-live-region>${main}</div>`,
    };
  });

  async function ofCommunity(visit: CommunityVisit): Promise<Html> {
    const { account, accountZone, now, settings } = visit;
    const month = localMonth(now, accountZone);
    const spaces = await queries.spaces.list(account);
    return html`${await Promise.all([
      waitingView(queries, visit),
      comingView(queries, visit),
      moneyByMonth(queries.monthCharges.ofEvents, account, { month, currency: settings.currency }),
      occupancyView(queries, visit, month, spaces),
      ratingView(visit),
    ])}`;
  }

  async function ratingView({ account }: CommunityVisit): Promise<Html> {
    const byRating = [...(await queries.reviews.byRating(account.id))];
    const count = byRating.reduce((sum, [, each]) => sum + each, 0);
    const average = byRating.reduce((sum, [rating, each]) => sum + rating * each, 0) / count;
    return html`<section class="card full"><h2>Rating</h2>${
      count === 0
        ? html`<p class="muted">No reviews yet.</p>`
        : html`<p>${stars(average)} ${average.toFixed(1)} from <a href="/console/reviews">${counted(count, 'review')}</a></p>`
    }</section>`;
  }

  async function ofBrand(visit: Visit): Promise<Html> {
    const { account, accountZone, now, settings } = visit;
    const list = async (status: 'Approved' | 'Pending') => {
      const wanted = { list: { status }, period: { is: 'upcoming', now }, direction: 'ascending' } as const;
      return (await queries.bookings.page(account, { ...wanted, limit: MOST_LISTED })).bookings;
    };
    const [next, waiting] = await Promise.all([list('Approved'), list('Pending')]);
    const party = await otherPartyOf(queries, account, [...next, ...waiting]);
    const section = (title: string, bookings: typeof next, none: Html) =>
      html`<section class="stack full"><h2>${title}</h2>${
        bookings.length === 0 ? none : bookingTable(bookings, party, title)
      }</section>`;
    const find = html`<p>None yet. ${buttonLink('/console/find', 'Find a space', 'quiet')}</p>`;
    const money = { month: localMonth(now, accountZone), currency: settings.currency };
    return html`${section('Next events', next, find)}
${section('Waiting for an answer', waiting, html`<p class="muted">No request is waiting.</p>`)}
${await moneyByMonth(queries.monthCharges.ofEvents, account, money)}
<p class="full"><a href="/console/bookings">All bookings</a></p>`;
  }
}
