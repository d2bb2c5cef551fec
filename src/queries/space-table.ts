import type { Rating } from '../../projections/space-ratings.ts';
import type { Community } from '../domain/community.ts';
import { termsOn } from '../domain/day-terms.ts';
import { defined } from '../domain/defined.ts';
import { addressLine, capacityOf } from '../domain/description.ts';
import type { HeldHours } from '../domain/held-times.ts';
import type { Cents, CommunityId, PlainDate, SpaceId } from '../domain/ids.ts';
import { SEARCHED_MONTHS_AHEAD } from '../domain/limits.ts';
import { folded } from '../domain/searched-text.ts';
import type { NamedSpace, Space } from '../domain/space.ts';
import type { SearchedSpace } from '../domain/space-search.ts';
import { freeHours } from '../domain/time-slots.ts';

/** A space with what searches compare. */
export type IndexedSpace = NamedSpace & {
  readonly searched: SearchedSpace;
  readonly rating?: Rating;
  /** The same for spaces whose hours are in time at the same moments (`hoursInTime`). */
  readonly timeTerms: string;
};

/** A day of all spaces, by their places in the table. */
export type IndexedDay = {
  /** The hours at which an event can start if the time allows it, one bit for each. */
  readonly hours: number[];
  /** The fee of an event, where the day has another one than the space. */
  readonly fees: Map<number, Cents>;
};

type Owner = { readonly community: Community; readonly name: string; readonly address: string };

/**
 * Hours of spaces that are kept, so that searches of the same days need no read: of 10,000 spaces all days for which people without an account
 * may search, which take 47 MB. Their searches thus remove none that accounts need.
 */
const MAX_KEPT = 10_000 * 31 * (SEARCHED_MONTHS_AHEAD + 1);

export type SpaceTable = ReturnType<typeof createSpaceTable>;

/** What searches compare of all spaces, in memory. Spaces are added at the end, by id, and never removed. */
export function createSpaceTable() {
  const spaces: IndexedSpace[] = [];
  const positions = new Map<SpaceId, number>();
  const owners = new Map<CommunityId, Owner>();
  /** The one that was asked for last is the last. */
  const days = new Map<PlainDate, IndexedDay>();

  function entryOf(space: Space, rating: Rating | undefined): IndexedSpace {
    const owner = owners.get(space.communityId);
    const house = owner?.community.house;
    const searched = {
      space,
      name: folded(space.name),
      communityName: owner?.name ?? '',
      address: owner?.address ?? '',
      capacity: capacityOf(space.facts ?? {}),
      coordinates: house?.coordinates,
    };
    const timeTerms = `${space.timeZone} ${space.noticeHours} ${space.horizonDays}`;
    return { space, communityName: owner?.community.name ?? '', searched, timeTerms, ...defined({ house, rating }) };
  }

  return {
    spaces: spaces as readonly IndexedSpace[],

    /** The days that are kept. */
    dates: (): PlainDate[] => [...days.keys()],

    setCommunity(community: Community): void {
      const { communityId, name, house } = community;
      const address = house?.address === undefined ? '' : folded(addressLine(house.address));
      owners.set(communityId, { community, name: folded(name), address });
      for (const [at, { space, rating }] of spaces.entries())
        if (space.communityId === communityId) spaces[at] = entryOf(space, rating);
    },

    /** Adds or replaces a space. The hours of its days are set after it. */
    setSpace(space: Space): void {
      const at = positions.get(space.spaceId) ?? spaces.length;
      positions.set(space.spaceId, at);
      spaces[at] = entryOf(space, spaces[at]?.rating);
    },

    setRating(spaceId: SpaceId, rating: Rating): void {
      const at = positions.get(spaceId);
      const entry = at === undefined ? undefined : spaces[at];
      if (at !== undefined && entry !== undefined) spaces[at] = { ...entry, rating };
    },

    /** Adds a day without hours, and removes the one that was asked for first if there are too many. */
    addDay(date: PlainDate): IndexedDay {
      const added: IndexedDay = { hours: [], fees: new Map() };
      days.set(date, added);
      const [oldest] = days.keys();
      if (days.size * spaces.length > MAX_KEPT && oldest !== undefined) days.delete(oldest);
      return added;
    },

    day(date: PlainDate): IndexedDay | undefined {
      const day = days.get(date);
      if (day === undefined) return undefined;
      days.delete(date);
      days.set(date, day);
      return day;
    },

    /** @param held what holds the hours of the space on the date */
    setHours(spaceId: SpaceId, date: PlainDate, held: HeldHours | undefined): void {
      const at = positions.get(spaceId);
      const space = at === undefined ? undefined : spaces[at]?.space;
      const day = days.get(date);
      if (at === undefined || space === undefined || day === undefined) return;
      day.hours[at] = freeHours(space, date, held);
      const { eventFee } = termsOn(space, date);
      if (eventFee === space.eventFee) day.fees.delete(at);
      else day.fees.set(at, eventFee);
    },
  };
}
