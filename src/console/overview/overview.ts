import { localMonth } from '../../domain/calendar.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import type { PageContent } from '../parts/answer.ts';
import { bookingTable } from '../parts/booking-views.ts';
import { buttonLink, START_PAGE } from '../parts/frame.ts';
import { otherPartyOf } from '../parts/other-party.ts';
import { stars } from '../parts/review-views.ts';
import { type ConsoleRoutes, isOfKind, type PageDeps } from '../parts/routes.ts';
import type { CommunityVisit, Visit } from '../parts/visit.ts';
import { comingView, waitingView } from './day-lists.ts';
import { moneyView, shownMonths } from './month-plot.ts';
import { MOST_SPACES, occupancyView } from './occupancy-view.ts';
import { MONEY_CSV, OCCUPANCY_CSV, overviewFiles } from './overview-files.ts';

/** Bookings in each list of a brand. */
const MOST_LISTED = 5;

/** The first page of an account: what comes next, what waits, and the money of the last months. */
export function overviewPages(routes: ConsoleRoutes, deps: PageDeps): void {
  const { queries } = deps;
  overviewFiles(routes, deps);

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
    return html`${await Promise.all([
      waitingView(queries, visit),
      comingView(queries, visit),
      moneyOf(visit),
      occupancyOf(visit),
      ratingView(visit),
    ])}`;
  }

  /** Undefined for members who do not see amounts. */
  async function moneyOf({ account, accountZone, now, settings, amount }: Visit): Promise<Html | undefined> {
    if (amount === undefined) return undefined;
    const months = shownMonths(localMonth(now, accountZone));
    const shown = { account, amount };
    return moneyView(shown, await queries.report.money(account, months, settings.currency), MONEY_CSV);
  }

  /** Undefined without spaces. */
  async function occupancyOf({ account, accountZone, now }: CommunityVisit): Promise<Html | undefined> {
    const month = localMonth(now, accountZone);
    const spaces = await queries.spaces.list(account);
    if (spaces.length === 0) return undefined;
    const [rows = []] = await Array.fromAsync(
      queries.report.occupancy(account.id, [month], spaces.slice(0, MOST_SPACES)),
    );
    return occupancyView(rows, { month, count: spaces.length, csv: OCCUPANCY_CSV });
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
    const { account, now } = visit;
    const list = async (status: 'Approved' | 'Pending') => {
      const wanted = { list: { status }, period: { is: 'upcoming', now }, direction: 'ascending' } as const;
      return (await queries.bookings.page(account, { ...wanted, limit: MOST_LISTED })).bookings;
    };
    const [next, waiting] = await Promise.all([list('Approved'), list('Pending')]);
    const party = await otherPartyOf(queries, account, [...next, ...waiting]);
    const section = (title: string, bookings: typeof next, none: Html) =>
      html`<section class="stack full"><h2>${title}</h2>${
        bookings.length === 0 ? none : bookingTable(visit, bookings, party, title)
      }</section>`;
    const find = html`<p>None yet. ${buttonLink('/console/find', 'Find a space', 'quiet')}</p>`;
    return html`${section('Next events', next, find)}
${section('Waiting for an answer', waiting, html`<p class="muted">No request is waiting.</p>`)}
${await moneyOf(visit)}
<p class="full"><a href="/console/bookings">All bookings</a></p>`;
  }
}
