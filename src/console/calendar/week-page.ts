import { isPlainDate, isYearsLater, localDate } from '../../domain/calendar.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { MAX_YEARS_AHEAD } from '../../domain/limits.ts';
import { dayAndMonth, longDate, zoneName } from '../../html/formats.ts';
import { html, namedText } from '../../html/html.ts';
import { missing } from '../parts/answer.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { addressOf, ENTER, neighbours, pager } from '../parts/links.ts';
import { weekOf } from '../parts/month-days.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { idOf } from '../parts/typed-form.ts';
import { type CommunityVisit, may } from '../parts/visit.ts';
import { bookingPanel } from './booking-panel.ts';
import { calendarTabs } from './calendar-tabs.ts';
import { SPACES_PER_PAGE, WEEK, type Week, weekTable } from './calendar-week.ts';

/** A community's week: its spaces by day. */
export function weekPages({ community }: ConsoleRoutes, { queries }: PageDeps): void {
  community.get(WEEK, 'Viewer', async ({ now, accountZone }) => ({ go: `${WEEK}/${localDate(now, accountZone)}` }));

  community.get(`${WEEK}/:date`, 'Viewer', async (visit) => {
    const { account, accountZone: zone, query, now, params } = visit;
    const date = params.date ?? '';
    if (!isPlainDate(date)) return missing('week');
    const days = weekOf(date);
    const spaces = await queries.spaces.list(account);
    const last = Math.max(1, Math.ceil(spaces.length / SPACES_PER_PAGE));
    const page = Math.min(idOf(query.text('page')) ?? 1, last);
    const shown = spaces.slice((page - 1) * SPACES_PER_PAGE, page * SPACES_PER_PAGE);
    const typed = query.text('booking');
    const id = idOf(typed);
    const booking = id === undefined ? undefined : await queries.bookings.get(account, id);
    const pageField = page > 1 ? String(page) : undefined;
    const path = `${WEEK}/${date}`;
    const closed = addressOf(path, { page: pageField });
    const here = addressOf(path, { page: pageField, booking: typed });
    const panel = booking && (await bookingPanel(queries, visit, booking, { here, closed }));
    const today = localDate(now, zone);
    const href = (day: PlainDate) => addressOf(`${WEEK}/${day}`, { page: pageField });
    const [first, end] = [days[0] ?? date, days.at(-1) ?? date];
    const beside = (word: string, days: number) => {
      const day = Temporal.PlainDate.from(first).add({ days }).toString();
      const label = html`<span class="visually-hidden">${word} week, from </span>${dayAndMonth(day)}`;
      return isPlainDate(day) && { href: href(day), label };
    };
    const to = (number: number) => addressOf(path, { page: number > 1 ? String(number) : undefined });
    const others = pager(
      { previous: page > 1 ? to(page - 1) : undefined, next: page < last ? to(page + 1) : undefined },
      { label: 'More spaces', here: `Page ${page} of ${last}` },
    );
    const week: Week = {
      ...(await contentOf(visit, days, shown)),
      days,
      today,
      spaces: shown,
      takesEntries: (day) => may(visit, 'Coordinator') && day >= today && !isYearsLater(day, today, MAX_YEARS_AHEAD),
      opened: booking?.bookingId,
      bookingHref: (one) => `${addressOf('', { page: pageField, booking: String(one) })}#booking`,
    };
    return {
      title: `Week of ${longDate(first)}`,
      heading: `${dayAndMonth(first)} – ${dayAndMonth(end)} ${end.slice(0, 4)}`,
      lead: zoneName(zone),
      actions: html`<div class="row">${may(visit, 'Coordinator') && buttonLink(ENTER, 'Enter a booking', 'quiet')}${neighbours(
        'Week',
        beside('Previous', -7),
        beside('Next', 7),
        buttonLink(href(today), 'Today', 'quiet'),
      )}</div>`,
      problems: typed !== '' && booking === undefined ? { '': `You have no booking “${namedText(typed)}”.` } : {},
      main: html`${calendarTabs('week', date)}
<div class="week-plan${panel && ' with-panel'}">${panel}<div class="full" id="week" data-live-region>${
        shown.length === 0 ? emptyState('space', 'No spaces yet')`There must be a space first.` : weekTable(week)
      }</div></div>${others}`,
    };
  });

  async function contentOf({ account }: CommunityVisit, days: readonly PlainDate[], shown: Week['spaces']) {
    const ids = shown.map(({ spaceId }) => spaceId);
    const [first, last] = [days[0], days.at(-1)];
    if (first === undefined || last === undefined) return { bookings: new Map(), closures: new Map() };
    const ofDay = async (day: PlainDate) => [day, await queries.calendar.heldOn(account.id, day, ids)] as const;
    const [bookings, listed] = await Promise.all([
      Promise.all(days.map(ofDay)),
      queries.closures.list(account.id, first, last),
    ]);
    return { bookings: new Map(bookings), closures: await queries.calendar.closuresOn(days, listed, ids) };
  }
}
