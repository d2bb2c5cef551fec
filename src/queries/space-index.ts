import { type AvailabilityDocument, availability, availabilityKey } from '../../projections/availability.ts';
import { communities } from '../../projections/communities.ts';
import type { AnyProjection, Projection } from '../../projections/projection.ts';
import { spaceRatings } from '../../projections/space-ratings.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { PlainDate, SpaceId } from '../domain/ids.ts';
import { isKnown, knownEvent } from '../domain/known-event.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import { logEnd, type Position, type StoredEvent } from '../event-store/event-store.ts';
import type { QueryDeps } from './query-deps.ts';
import { FROM } from './samples.ts';
import { createSearchTurns, type Searcher } from './search-turns.ts';
import { ratingOf } from './space-ratings.ts';
import { createSpaceTable, type IndexedDay, type IndexedSpace, type SpaceTable } from './space-table.ts';
import { communitiesById, spacesById } from './spaces.ts';

type IndexSources = Pick<QueryDeps, 'events' | 'readModels'>;

export type SpaceIndex = {
  /** By id. */
  readonly spaces: readonly IndexedSpace[];
  readonly days: ReadonlyMap<PlainDate, IndexedDay>;
};

/** After so many events without a search, the index is built again. */
const MAX_BEHIND = 20_000;
/** How long to wait for the read models to show what the log says, in milliseconds. If they do not, it is read again at the next search. */
const WAIT_MS = 50;
/** Documents that are read at a time, which takes about a millisecond. */
const READ_TOGETHER = 50;

const onDate = declareQuery(availability, (date: PlainDate): Find<AvailabilityDocument> => ({ where: { date } }), [
  FROM,
]);

const FOLLOWED: readonly AnyProjection[] = [communities, spaces, spaceRatings, availability];
const TYPES = [...new Set(FOLLOWED.flatMap(({ types }) => types))];

/**
 * All spaces with what searches compare, in memory, because no index of a store answers such a search in time. It shows what the read models
 * show: each search first looks in the part of the log since the search before for the documents that have changed, and reads those.
 * @returns does some work with the index and these days, in a turn of those for whom it is
 */
export function createSpaceIndex(deps: IndexSources) {
  const inTurn = createSearchTurns();
  let built: { readonly of: string; readonly follower: Follower } | undefined;

  async function current(): Promise<Follower> {
    // A rebuild may correct documents without an event.
    const of = FOLLOWED.map(deps.readModels.nameOf).join();
    if (built?.of === of && (await built.follower.follow())) return built.follower;
    // Until it is built again: what was read of the log may be lost.
    built = undefined;
    const { follower, isShown } = await build(deps);
    // One that was built from read models that lag serves this search alone.
    if (isShown) built = { of, follower };
    return follower;
  }

  return async <R>(by: Searcher, dates: readonly PlainDate[], work: (index: SpaceIndex) => Promise<R>): Promise<R> => {
    let follower: Follower | undefined;
    const days = new Map<PlainDate, IndexedDay>();

    /** Reads one day, if one is missing, because a month of them would hold up the others. @returns undefined if it did */
    async function next(): Promise<{ readonly result: R } | undefined> {
      follower ??= await current();
      for (const date of dates) {
        if (days.has(date)) continue;
        const day = follower.table.day(date);
        days.set(date, day ?? (await follower.addDay(date)));
        if (day === undefined) return undefined;
      }
      return { result: await work({ spaces: follower.table.spaces, days }) };
    }

    for (;;) {
      const done = await inTurn(by, next);
      if (done !== undefined) return done.result;
    }
  };
}

type Follower = ReturnType<typeof createFollower>;

/** Reads all spaces. `isShown`: whether the read models had reached the end of the log. */
async function build(deps: IndexSources) {
  const { events, readModels } = deps;
  const table = createSpaceTable();
  const nextSlice = yieldEvery(1);
  const position = await logEnd(events);
  const isShown = await readModels.waitFor(position, { projections: FOLLOWED, timeoutMs: WAIT_MS });
  for await (const community of readModels.collection(communities).find(communitiesById()))
    table.setCommunity(community);
  for await (const space of readModels.collection(spaces).find(spacesById(undefined))) {
    table.setSpace(space);
    await nextSlice();
  }
  const follower = createFollower(deps, table, position);
  await follower.readRatings(table.spaces.map(({ space }) => String(space.spaceId)));
  return { follower, isShown };
}

/** The hours of a space on a date. */
type SpaceDay = { readonly spaceId: SpaceId; readonly date: PlainDate };

/**
 * Keeps a table as the read models are.
 * @param begin where the log ended before the table was read
 */
function createFollower({ events, readModels }: IndexSources, table: SpaceTable, begin: Position) {
  /** What the log says has changed up to here is marked. */
  let position = begin;
  /** What has to be read again. */
  const changed = {
    communities: new Set<string>(),
    spaces: new Set<string>(),
    ratings: new Set<string>(),
    days: new Map<string, SpaceDay>(),
  };
  const nextSlice = yieldEvery(1);

  function mark(stored: StoredEvent): void {
    if (!isKnown(stored)) return;
    const event = knownEvent(stored);
    const concerns = ({ types }: AnyProjection) => types.includes(event.type);
    if (concerns(communities)) changed.communities.add(communities.key(event));
    if (concerns(spaces)) changed.spaces.add(spaces.key(event));
    if (concerns(spaceRatings)) changed.ratings.add(spaceRatings.key(event));
    const { data } = event;
    if (concerns(availability) && 'spaceId' in data && 'date' in data) {
      const { spaceId, date } = data;
      changed.days.set(availabilityKey(spaceId, date), { spaceId, date });
    }
  }

  /** How much has to be read again. */
  const changes = (): number => Object.values(changed).reduce((sum, keys) => sum + keys.size, 0);

  /** Marks what has changed since. @returns false if that is too much */
  async function readLog(): Promise<boolean> {
    const end = await logEnd(events);
    if (end === position) return true;
    let count = 0;
    let last = end;
    for await (const stored of events.readAll({ after: position, types: TYPES, limit: MAX_BEHIND })) {
      mark(stored);
      count += 1;
      if (stored.position > last) last = stored.position;
    }
    position = last;
    // While a read model fails, what has changed cannot be forgotten.
    return count < MAX_BEHIND && changes() < MAX_BEHIND;
  }

  async function* readMany<D extends object>(projection: Projection<D>, keys: Iterable<string>) {
    for await (const page of inPages(keys, READ_TOGETHER)) {
      const documents = await readModels.collection(projection).getMany(page);
      for (const key of page) yield { key, document: documents.get(key) };
      await nextSlice();
    }
  }

  async function readRatings(keys: Iterable<string>): Promise<void> {
    for await (const { document } of readMany(spaceRatings, keys))
      if (document !== undefined) table.setRating(document.spaceId, ratingOf(document));
  }

  async function readHours(spaceDays: ReadonlyMap<string, SpaceDay>): Promise<void> {
    for await (const { key, document } of readMany(availability, spaceDays.keys())) {
      const day = spaceDays.get(key);
      if (day !== undefined) table.setHours(day.spaceId, day.date, document);
    }
  }

  /** With their hours, which depend on their terms. */
  async function readSpaces(keys: Iterable<string>): Promise<void> {
    const dates = table.dates();
    for await (const { document } of readMany(spaces, keys)) {
      if (document === undefined) continue;
      const { spaceId } = document;
      table.setSpace(document);
      await readHours(new Map(dates.map((date) => [availabilityKey(spaceId, date), { spaceId, date }])));
    }
  }

  async function readChanged(): Promise<void> {
    if (changes() === 0) return;
    const isShown = await readModels.waitFor(position, { projections: FOLLOWED, timeoutMs: WAIT_MS });
    for await (const { document } of readMany(communities, changed.communities))
      if (document !== undefined) table.setCommunity(document);
    await readSpaces(changed.spaces);
    await readRatings(changed.ratings);
    const dates = new Set(table.dates());
    await readHours(new Map(changed.days.entries().filter(([, { date }]) => dates.has(date))));
    if (isShown) for (const keys of Object.values(changed)) keys.clear();
  }

  /** Reads a day that is not in the table. */
  async function addDay(date: PlainDate): Promise<IndexedDay> {
    const held = new Map<SpaceId, AvailabilityDocument>();
    for await (const document of readModels.collection(availability).find(onDate(date)))
      held.set(document.spaceId, document);
    const day = table.addDay(date);
    for (const { space } of table.spaces) {
      table.setHours(space.spaceId, date, held.get(space.spaceId));
      await nextSlice();
    }
    return day;
  }

  return {
    table,
    readRatings,
    addDay,

    /** Reads what has changed. @returns false if that is too much */
    async follow(): Promise<boolean> {
      if (!(await readLog())) return false;
      await readChanged();
      return true;
    },
  };
}
