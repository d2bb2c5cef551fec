import { availability, availabilityKey } from '../../projections/availability.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Account } from '../domain/account.ts';
import {
  datesBetween,
  isPlainDate,
  localDate,
  WEEKDAYS,
  type Weekday,
  wallDay,
  weekdayOf,
} from '../domain/calendar.ts';
import { isStartHour, termsOn } from '../domain/day-terms.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import type { HeldHours } from '../domain/held-times.ts';
import type { PlainDate } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import { isTooFar, noticeUntil, timeSlots } from '../domain/time-slots.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import type { QueryDeps } from './query-deps.ts';
import { asOffered, createSpaceQueries, isVisibleSpace, spacesSeenBy } from './spaces.ts';

type OpenDaysQuery = {
  readonly account: Account;
  /** Default: every space that takes bookings and that the account may see. */
  readonly spaceIds?: readonly number[];
  /** The spaces, by id, if the caller has just read those that the account may see. */
  readonly spaces?: readonly Space[];
  readonly communityId?: number;
  /** Inclusive. */
  readonly from: PlainDate;
  /** Inclusive. */
  readonly to: PlainDate;
  /** Default: every day of the week. */
  readonly weekdays?: readonly Weekday[];
  /** Only days on which an event may start at this hour. */
  readonly startHour?: number;
  /** The last day and space of the previous page. */
  readonly after?: OpenDaysCursor;
  readonly limit: number;
  /** Whether the client still waits for the answer. Default: always. */
  readonly isWanted?: () => boolean;
};

export type OpenDaysCursor = { readonly date: PlainDate; readonly spaceId: number };

type OpenDay = {
  readonly space: Space;
  readonly date: PlainDate;
  readonly weekday: Weekday;
  /** Start hours that can be booked, at least one. */
  readonly openHours: readonly number[];
};

/** Why no day of a query can be open: the spaces, the dates, or the start hour asked for. */
export type NoDays = 'NoSpaces' | 'Inactive' | 'Past' | 'TooSoon' | 'TooFar' | 'ClosedDays' | 'OutsideWindow';

/** Days of spaces that one call checks, so that a wide search ends in bounded time and continues from a cursor. */
const MAX_SEARCHED = 4_000;
const NOTHING: HeldHours = { taken: [], closed: [] };
/** How many of them are read at a time, which takes about a millisecond. */
const CHUNK = 50;

/**
 * The days on which spaces can be booked, by date and space. Skips days before today in a space's zone. Refuses a space that the account
 * may not see or a community (`ResourceNotFound`, docs/decisions/accounts.md).
 * @returns the days; `next`: where to continue, undefined once the whole range has been searched; `why`: why there are no days at all, if the
 * query is the cause
 * @throws {Unavailable} as soon as the answer is no longer wanted
 */
export function createOpenDaysQuery(deps: QueryDeps) {
  const { readModels, clock } = deps;
  const { communityOf, communitiesBlocking } = createSpaceQueries(deps);

  async function spacesOf(query: OpenDaysQuery): Promise<readonly Space[] | Refusal> {
    const { account, spaceIds, communityId } = query;
    if (query.spaces !== undefined) return query.spaces;
    if (communityId !== undefined && (await communityOf(account, communityId)) === undefined)
      return refuse('ResourceNotFound', `There is no community ${communityId}.`);
    if (spaceIds === undefined) {
      const all = await readModels.collection(spaces).list(spacesSeenBy(account));
      return all.filter((space) => communityId === undefined || space.communityId === communityId);
    }
    const found = await readModels.collection(spaces).getMany([...new Set(spaceIds)].map(String));
    const seen = [...found.values()].filter((space) => isVisibleSpace(account, space));
    const missing = spaceIds.filter((id) => !seen.some(({ spaceId }) => spaceId === id));
    if (missing.length > 0) return refuse('ResourceNotFound', `There is no space ${missing.join(', ')}.`);
    const others = seen.filter((space) => communityId !== undefined && space.communityId !== communityId);
    if (others.length > 0) {
      const ids = others.map(({ spaceId }) => spaceId).join(', ');
      return refuse('ResourceNotFound', `Community ${communityId} has no space ${ids}.`);
    }
    return seen.sort((a, b) => a.spaceId - b.spaceId);
  }

  return async (query: OpenDaysQuery) => {
    const [found, blockedBy] = await Promise.all([spacesOf(query), communitiesBlocking(query.account)]);
    if ('refused' in found) return found;
    const spacesToSearch = found.map((space) => asOffered(space, blockedBy.has(space.communityId)));
    const { startHour, limit } = query;
    const now = clock();
    const why = whyNone(spacesToSearch, query, now);
    if (why !== undefined) return { days: [], next: undefined, why };
    const days: OpenDay[] = [];
    const active = spacesToSearch.filter((space) => space.active);
    const candidates = candidatesOf(active, query, now);
    const nextSlice = yieldEvery(1, { waitsFirst: true });
    let searched = 0;
    for await (const chunk of inPages(candidates, CHUNK)) {
      const keys = chunk.map(({ space, date }) => availabilityKey(space.spaceId, date));
      const byKey = await readModels.collection(availability).getMany(keys);
      for (const { space, date } of chunk) {
        await nextSlice();
        if (query.isWanted?.() === false) throw new Unavailable('The search for open days was given up');
        const slots = timeSlots(space, date, byKey.get(availabilityKey(space.spaceId, date)) ?? NOTHING, now);
        const openHours = slots.filter(({ isAvailable }) => isAvailable).map(({ hour }) => hour);
        if (openHours.length === 0 || (startHour !== undefined && !openHours.includes(startHour))) continue;
        days.push({ space, date, weekday: weekdayOf(date), openHours });
        if (days.length === limit) return { days, next: { date, spaceId: space.spaceId } };
      }
      searched += chunk.length;
      const last = chunk.at(-1);
      if (last !== undefined && searched >= MAX_SEARCHED)
        return { days, next: { date: last.date, spaceId: last.space.spaceId } };
    }
    return { days, next: undefined };
  };
}

function whyNone(spacesToSearch: readonly Space[], query: OpenDaysQuery, now: number): NoDays | undefined {
  const { from, to, startHour } = query;
  if (spacesToSearch.length === 0) return 'NoSpaces';
  const active = spacesToSearch.filter((space) => space.active);
  if (active.length === 0) return 'Inactive';
  if (active.every(({ timeZone }) => to < localDate(now, timeZone))) return 'Past';
  if (active.every((space) => isTooFar(space, from, now))) return 'TooFar';
  if (active.every((space) => wallDay(to, space.timeZone).end <= noticeUntil(space, now))) return 'TooSoon';
  if (!active.some((space) => opensWithin(space, query))) return 'ClosedDays';
  return startHour !== undefined && !active.some((space) => isStartHour(space, startHour))
    ? 'OutsideWindow'
    : undefined;
}

/** Whether a space opens on a date of a range, by its hours. Seven dates have every weekday. */
function opensWithin(space: Space, { from, to, weekdays }: OpenDaysQuery): boolean {
  if (space.week === undefined) return true;
  const isWanted = (date: PlainDate) => weekdays === undefined || weekdays.includes(weekdayOf(date));
  const special = Object.keys(space.special ?? {}).filter(isPlainDate);
  const first = [...datesBetween(from, to).take(WEEKDAYS.length)];
  return (
    special.some((date) => date >= from && date <= to && isWanted(date)) ||
    first.some((date) => isWanted(date) && !termsOn(space, date).isClosedDay)
  );
}

/** The days of spaces to search, by date and space. */
function* candidatesOf(
  spacesToSearch: readonly Space[],
  { from, to, weekdays, after }: OpenDaysQuery,
  now: number,
): Generator<{ readonly space: Space; readonly date: PlainDate }> {
  for (const date of datesBetween(after?.date ?? from, to)) {
    if (weekdays !== undefined && !weekdays.includes(weekdayOf(date))) continue;
    const skipped = date === after?.date ? after.spaceId : 0;
    for (const space of spacesToSearch)
      if (space.spaceId > skipped && date >= localDate(now, space.timeZone)) yield { space, date };
  }
}
