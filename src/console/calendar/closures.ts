import { setTimeout as pause } from 'node:timers/promises';
import type { ReadableClosure } from '../../../projections/closures.ts';
import { localDate } from '../../domain/calendar.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { ClosureKind } from '../../domain/events.ts';
import type { SpaceId } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { capitalised, counted, hours, shortDate, zoneName } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';
import { done, missing, nothingToDo, type PageContent } from '../parts/answer.ts';
import { confirm, dateField, hasProblems, postForm, problemOf } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { type ConsoleRoutes, type PageDeps, routesAbout } from '../parts/routes.ts';
import { column, dataTable, rowHeading } from '../parts/tables.ts';
import { readDate } from '../parts/typed-dates.ts';
import type { Problems } from '../parts/typed-form.ts';
import { type CommunityVisit, may } from '../parts/visit.ts';
import {
  bookingsSection,
  cancelAndEnter,
  entersAgain,
  mostBookings,
  problemsOfCancelling,
} from './closure-bookings.ts';

export const CLOSURES = '/console/calendar/closures';
export const IMPORT = `${CLOSURES}/import`;

/** Days left out that its page lists. It counts the others. */
const MOST_LISTED = 50;

const HOW_TO_CLOSE = 'Close a day for all spaces, or enter an event of your own.';

export const CHANGED_MEANWHILE = 'It was changed meanwhile, and is like this now. Nothing else has changed.';

export const GOES_ON = nothingToDo(CLOSURES, 'This takes a moment and goes on. The list shows how far it is.');

/** A form that takes longer is answered before it is done, and goes on. */
const ANSWERED_WITHIN_MS = 4_000;

export const WORD: Readonly<Record<ClosureKind, string>> = { Closure: 'closed time', OwnEvent: 'own event' };

/** Closed times and own events of a community: a list, and a page of each with what can be done with it. */
export function closurePages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  community.get(CLOSURES, 'Viewer', async (visit) => {
    const { account, accountZone: zone, now } = visit;
    const list = await queries.closures.list(account.id, localDate(now, zone));
    // Only the spaces that are named: most closed times have many, which are counted.
    const singles = new Set(list.flatMap(({ spaceIds }) => (spaceIds.length === 1 ? spaceIds : [])));
    const spaces = await Promise.all(Array.from(singles, (id) => queries.spaces.get(account, id)));
    const actions = html`<div class="row">${buttonLink(newPath('Closure'), 'Close…')}
${buttonLink(newPath('OwnEvent'), 'Own event…', 'quiet')}${buttonLink(IMPORT, 'Import…', 'quiet')}</div>`;
    return {
      title: 'Closed times and own events',
      lead: `From today on. ${zoneName(zone)}.`,
      back: CALENDAR,
      ...(may(visit, 'Coordinator') && { actions }),
      main: html`<div id="closures" data-live-region>${
        list.length === 0
          ? emptyState('calendar', 'Nothing is closed')`${may(visit, 'Coordinator') && HOW_TO_CLOSE}`
          : closureTable(list, namesOf(spaces.filter((space) => space !== undefined)))
      }</div>`,
    };
  });

  const ofClosure = closureRoutes(community, queries);

  ofClosure.get(`${CLOSURES}/:id`, 'Viewer', (visit, closure) => closurePage(visit, closure, {}));

  async function closurePage(
    visit: CommunityVisit,
    closure: ReadableClosure,
    problems: Problems,
  ): Promise<PageContent> {
    const { account } = visit;
    const { replaces } = closure;
    const [spaces, former] = await Promise.all([
      queries.spaces.list(account),
      replaces && queries.closures.get(account.id, replaces.closureId),
    ]);
    const names = namesOf(spaces);
    const bookings = await concernedBy(visit, closure, spaces);
    return {
      title: titleOf(closure),
      heading: closure.title === undefined ? titleOf(closure) : named(closure.title),
      lead: leadOf(closure),
      back: { href: CLOSURES, label: 'Closed times and own events' },
      problems,
      main: html`<section class="card stack" id="closure" data-live-region>${factsOf(closure, names)}
${formerNote(closure, former)}${actionsOf(visit, closure)}</section>
${leaveOutForm(visit, closure, problems)}${leftOutList(closure, names)}
${bookingsSection(visit, closure, bookings, problems)}`,
    };
  }

  /** The bookings inside a closed time, or in the way of an own event. */
  async function concernedBy(visit: CommunityVisit, closure: ReadableClosure, spaces: readonly Space[]) {
    if (closure.endedAt !== undefined) return { first: [], count: 0 };
    const today = localDate(visit.now, visit.accountZone);
    return queries.calendar.concerned(closure, today, spaces, mostBookings(visit));
  }

  ofClosure.post(`${CLOSURES}/:id/cancel`, 'Coordinator', async (visit, closure) => {
    const hours = entersAgain(closure) ? closure : undefined;
    const problems = await problemsOfCancelling({ commands, queries }, visit, hours);
    if (hasProblems(problems)) return closurePage(visit, closure, problems);
    return cancelAndEnter({ commands, queries }, visit, closure);
  });

  ofClosure.post(`${CLOSURES}/:id/leave-out`, 'Coordinator', async (visit, closure) => {
    const { account, context, form } = visit;
    const { date, problem } = readDate(form.text('date'));
    if (date === undefined) return closurePage(visit, closure, { date: problem });
    const outcome = await commands.closures.leaveOut(
      { closureId: closure.closureId, communityId: account.id, date },
      context,
    );
    if (isRefusal(outcome)) return closurePage(visit, closure, problemOf(outcome, { date: 'Date' }));
    if (outcome.hasEnded) return done(CLOSURES, `It had no other date. ${capitalised(WORD[closure.kind])} ended.`);
    return done(`${CLOSURES}/${closure.closureId}`, `${shortDate(date)} left out. Its hours can be booked again.`);
  });

  ofClosure.post(`${CLOSURES}/:id/end`, 'Coordinator', async ({ account, context }, closure) => {
    const { replacedBy } = closure;
    if (replacedBy !== undefined) return nothingToDo(`${CLOSURES}/${replacedBy}`, CHANGED_MEANWHILE);
    if (closure.endedAt !== undefined) return nothingToDo(CLOSURES, 'It had ended already. Nothing has changed.');
    const outcome = await inTime(
      commands.closures.end({ closureId: closure.closureId, communityId: account.id }, context),
    );
    if (outcome === 'Working') return nothingToDo(CLOSURES, 'This takes a moment and goes on by itself.');
    if (isRefusal(outcome)) return missing('closed time');
    return done(CLOSURES, `${capitalised(WORD[closure.kind])} ended. Its hours can be booked again.`);
  });
}

/** Registers pages and forms about one closed time or own event. */
export const closureRoutes = (community: ConsoleRoutes['community'], { closures }: Pick<Queries, 'closures'>) =>
  routesAbout(community, 'closed time', ({ account }, id) => closures.get(account.id, id));

/** The outcome, or `Working` if it takes longer than a page may. Should it fail later, the scheduler finishes it. */
export async function inTime<T>(working: Promise<T>): Promise<T | 'Working'> {
  const answered = new AbortController();
  const late = pause(ANSWERED_WITHIN_MS, 'Working' as const, { signal: answered.signal });
  try {
    return await Promise.race([working, late]);
  } finally {
    answered.abort();
    for (const each of [working, late]) each.catch(() => {});
  }
}

/** How many bookings are inside a closed time. */
export const keptText = (bookings: number): readonly string[] =>
  bookings === 0 ? [] : [`${counted(bookings, 'booking')} inside it stay${bookings === 1 ? 's' : ''}.`];

const CALENDAR = { href: '/console/calendar', label: 'Calendar' } as const;

const newPath = (kind: ClosureKind): string => `${CLOSURES}/new?kind=${kind}`;

type Names = ReadonlyMap<SpaceId, string>;

const namesOf = (spaces: readonly Space[]): Names => new Map(spaces.map(({ spaceId, name }) => [spaceId, name]));

export const titleOf = ({ title, kind }: Pick<ReadableClosure, 'title' | 'kind'>): string =>
  title ?? (kind === 'Closure' ? 'Closed' : 'Own event');

const closureTable = (list: readonly ReadableClosure[], names: Names): Html =>
  dataTable('Closed times and own events', list, [
    rowHeading(
      'Title',
      'long',
      (one) => html`<a class="whole" href="${CLOSURES}/${one.closureId}">${named(titleOf(one))}</a>`,
    ),
    column('Kind', 'nowrap', ({ kind }) => capitalised(WORD[kind])),
    column('Days', '', datesText),
    column('Hours', 'nowrap', hoursText),
    column('Spaces', 'long', ({ spaceIds }) => spacesText(spaceIds, names)),
    column('State', '', stateText),
  ]);

export function datesText({ from, to, weekdays }: ReadableClosure): string {
  const range = from === to ? shortDate(from) : `${shortDate(from)} – ${shortDate(to)}`;
  return weekdays === undefined ? range : `${weekdays.map((day) => day.slice(0, 3)).join(', ')}: ${range}`;
}

const hoursText = ({ start, until }: ReadableClosure): string =>
  start === 0 && until === 24 ? 'Whole day' : hours(start, until);

/** The name of the only space, or how many there are. */
const spacesText = (spaceIds: readonly SpaceId[], names: Names): Html | string => {
  const [only] = spaceIds;
  if (spaceIds.length === 1 && only !== undefined) return html`${named(names.get(only) ?? `Space ${only}`)}`;
  return counted(spaceIds.length, 'space');
};

function stateText({ state, days, spaceIds, closedDays, leftOut, openedDays, endedAt }: ReadableClosure): string {
  // A date counts once for each space.
  const ofSpaces = spaceIds.length > 1 ? ' of spaces' : '';
  if (state === 'Working' && endedAt !== undefined) return `Ending: ${openedDays} of ${days} days${ofSpaces}`;
  if (state === 'Working') return `In progress: ${closedDays + leftOut.length} of ${days} days${ofSpaces}`;
  if (endedAt !== undefined) return 'Ended';
  return leftOut.length === 0
    ? counted(closedDays / spaceIds.length, 'day')
    : `${counted(days - leftOut.length, 'day')}${ofSpaces}, ${leftOut.length} left out`;
}

function factsOf(closure: ReadableClosure, names: Names): Html {
  const isAll = closure.spaceIds.length > 1 && closure.spaceIds.length === names.size;
  const list = closure.spaceIds.map((id, index) => html`${index > 0 && ', '}${named(names.get(id) ?? `Space ${id}`)}`);
  return html`<dl class="facts"><dt>Days</dt><dd>${datesText(closure)}</dd><dt>Hours</dt><dd>${hoursText(closure)}</dd>
<dt>Spaces</dt><dd>${isAll ? `All ${names.size} spaces` : list}</dd><dt>State</dt><dd>${stateText(closure)}</dd></dl>`;
}

const leadOf = ({ endedAt, replacedBy, kind }: ReadableClosure): Html | string => {
  if (endedAt === undefined) return capitalised(WORD[kind]);
  return replacedBy === undefined
    ? 'It has ended.'
    : html`It was changed: <a href="${CLOSURES}/${replacedBy}">as it is now</a>.`;
};

/** The days that a change could not take over, or that were over. */
const formerNote = ({ endedAt }: ReadableClosure, former: ReadableClosure | undefined): Html | undefined =>
  endedAt === undefined && former !== undefined && former.endedAt === undefined
    ? html`<p class="small">Some days stay <a href="${CLOSURES}/${former.closureId}">as they were before the change</a>.</p>`
    : undefined;

function actionsOf(visit: CommunityVisit, closure: ReadableClosure): Html | undefined {
  if (closure.endedAt !== undefined || !may(visit, 'Coordinator')) return undefined;
  const change =
    closure.state === 'Done' && buttonLink(`${CLOSURES}/${closure.closureId}/change`, 'Change…', 'small quiet');
  const end = confirm(visit, `${CLOSURES}/${closure.closureId}/end`, {
    open: 'End it…',
    submit: `End ${WORD[closure.kind]}`,
    removes: true,
  });
  return html`<div class="row">${change}${end`Its hours can be booked again, on all of its days.`}</div>`;
}

/** The form that leaves out one of several dates, such as a holiday of a weekly event. */
function leaveOutForm(visit: CommunityVisit, closure: ReadableClosure, problems: Problems): Html | undefined {
  const { closureId, endedAt, state, days, spaceIds } = closure;
  if (endedAt !== undefined || state === 'Working' || days === spaceIds.length || !may(visit, 'Coordinator'))
    return undefined;
  const hint = 'The hours of this date can be booked again. It cannot be taken back.';
  const value = visit.form.text('date');
  return postForm(visit, `${CLOSURES}/${closureId}/leave-out`, 'card fields narrow')`<h2>Leave out a date</h2>
${dateField({ name: 'date', label: 'Date', hint, value, required: true, problems })}
<div><button class="button quiet">Leave out this date</button></div>`;
}

function leftOutList({ leftOut }: ReadableClosure, names: Names): Html | undefined {
  if (leftOut.length === 0) return undefined;
  const byDate = [...Map.groupBy(leftOut, ({ date }) => date)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const more = byDate.length - MOST_LISTED;
  const item = ([date, days]: (typeof byDate)[number]) => {
    const ids = days.map(({ spaceId }) => spaceId);
    const only = ids.length === 1 && `?space=${ids[0]}`;
    return html`<li><a href="/console/calendar/${date}${only}">${shortDate(date)}</a>, ${spacesText(ids, names)}</li>`;
  };
  return html`<section class="stack tight"><h2>Days left out</h2><p>The hours are not free on these days, the clocks skip
them, or the date was left out or changed by hand.</p>
<ul class="bullets">${byDate.slice(0, MOST_LISTED).map(item)}</ul>${more > 0 && html`<p>And ${more} more.</p>`}</section>`;
}
