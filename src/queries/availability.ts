import { availability, availabilityKey } from '../../projections/availability.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Account } from '../domain/account.ts';
import { hoursBegun, localDate, wallDay } from '../domain/calendar.ts';
import { termsOn } from '../domain/day-terms.ts';
import { type Refusal, refuse, refuseField } from '../domain/decision.ts';
import type { HeldHours } from '../domain/held-times.ts';
import type { CommunityId, PlainDate } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import {
  type ClosedKind,
  closedKind,
  freeFrom,
  isTooFar,
  noticeUntil,
  type TakenHours,
  type TimeSlot,
  timeSlots,
  useFrom,
  whyClosed,
} from '../domain/time-slots.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import type { QueryDeps } from './query-deps.ts';
import { asOffered, isBlockedBy, isVisibleSpace } from './spaces.ts';

/** The inputs of the slots of a space on a date. An answer is valid until one of them changes. */
export type Availability = {
  readonly space: Space;
  readonly date: PlainDate;
  readonly heldHours: HeldHours;
  /** The hours of the day that begin before the notice of the space is over, or that the date is too far ahead. No other part of the time matters. */
  readonly time: number | 'TooFar';
  timeSlots(): readonly TimeSlot[];
  /**
   * Why no event can start at an hour, as visible to the account; undefined if one can.
   * @param how `isAtShortNotice`: whether the notice of the space is waived
   */
  closed(hour: number, how?: { readonly isAtShortNotice?: boolean | undefined }): ClosedKind | undefined;
  /** The hour from which the space is free after an event that starts at an hour. */
  freeFrom(hour: number): number;
};

type AvailabilityQuery = { readonly account: Account; readonly spaceId: number; readonly date: PlainDate };

/** Spaces whose communities are remembered. */
const MAX_OWNERS = 10_000;
const NOTHING: HeldHours<TakenHours> = { taken: [], closed: [] };

/** Reasons that close a whole day, the one that passes last first. */
const DAY_REASONS = ['Closed', 'TooSoon', 'Past'] as const;

/** Why no hour of a day is open, if it is not because others have booked; undefined if an hour is open or booked. */
export function whyNoHours({
  space,
  date,
  time,
  timeSlots,
  closed,
}: Availability): 'Inactive' | 'TooFar' | 'ClosedDays' | (typeof DAY_REASONS)[number] | undefined {
  if (!space.active) return 'Inactive';
  if (time === 'TooFar') return 'TooFar';
  if (termsOn(space, date).isClosedDay) return 'ClosedDays';
  const kinds = new Set(timeSlots().map(({ hour }) => closed(hour)));
  return [...kinds].every((kind) => kind === 'Skipped' || DAY_REASONS.some((reason) => reason === kind))
    ? DAY_REASONS.find((reason) => kinds.has(reason))
    : undefined;
}

/**
 * The open start hours of a space on a date. Refuses a date before today in the space's zone (`ValidationError`, docs/decisions/time.md)
 * and a space the account may not see (`ResourceNotFound`, docs/decisions/accounts.md).
 */
export function createAvailabilityQuery({ readModels, clock }: QueryDeps) {
  const allSpaces = readModels.collection(spaces);
  const days = readModels.collection(availability);
  /** The communities of spaces, which never change, so that how a brand stands with one is read beside the space. */
  const owners = createLruCache<number, CommunityId>(MAX_OWNERS);
  const isBlocked = (account: Account, owner: CommunityId) => isBlockedBy({ readModels }, account, owner);

  return async ({ account, spaceId, date }: AvailabilityQuery): Promise<Availability | Refusal> => {
    const owner = owners.get(spaceId);
    const [stored, day, known] = await Promise.all([
      allSpaces.get(String(spaceId)),
      days.get(availabilityKey(spaceId, date)),
      owner && isBlocked(account, owner),
    ]);
    if (stored === undefined || !isVisibleSpace(account, stored))
      return refuse('ResourceNotFound', `There is no space ${spaceId}.`);
    if (owner === undefined) owners.set(spaceId, stored.communityId);
    const space = asOffered(stored, known ?? (await isBlocked(account, stored.communityId)));
    const now = clock();
    const today = localDate(now, space.timeZone);
    if (date < today) return refuseField('date', `must be today (${today} in ${space.timeZone}) or later, got ${date}`);
    const wall = wallDay(date, space.timeZone);
    const begun = hoursBegun(wall, noticeUntil(space, now));
    const heldHours: HeldHours<TakenHours> = day ?? NOTHING;
    return {
      space,
      date,
      heldHours,
      time: isTooFar(space, date, now) ? 'TooFar' : begun,
      timeSlots: () => timeSlots(space, date, heldHours, now),
      closed(hour, { isAtShortNotice = false } = {}) {
        const asked = isAtShortNotice ? { ...space, noticeHours: 0 } : space;
        const closed = whyClosed(asked, wall, hour, heldHours, now);
        return closed && closedKind(closed, account);
      },
      freeFrom(hour) {
        const terms = termsOn(space, date);
        return freeFrom(terms, wall, useFrom(terms, wall, hour));
      },
    };
  };
}
