import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BookingDocument, bookings, pendingBooking } from '../../projections/bookings.ts';
import type { Collection, Documents } from '../../src/document-store/document-store.ts';
import type { Account } from '../../src/domain/account.ts';
import { bookingId, brandId, communityId, type PlainDate, spaceId, timestamp } from '../../src/domain/ids.ts';
import {
  type BookingList,
  type BookingPart,
  createBookingPages,
  type Direction,
} from '../../src/queries/booking-pages.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { day, requested } from '../domain/bookings.fixture.ts';
import { readModelOf } from './one-read-model.ts';

const COMMUNITY: Account = { kind: 'Community', id: communityId(1) };
const LIMIT = 3;
const DAY = day('2026-12-10');

type Made = { readonly id: number; readonly date: PlainDate; readonly hour: number; readonly space: number };

const documentOf = ({ id, date, hour, space }: Made): BookingDocument => ({
  ...pendingBooking(requested().data, timestamp('2026-12-01T11:00:00.000Z')),
  bookingId: bookingId(id),
  date,
  startHour: hour,
  spaceId: spaceId(space),
});

const inOrder = (a: Made, b: Made) => (a.date === b.date ? a.hour - b.hour || a.id - b.id : a.date < b.date ? -1 : 1);

describe.each(documentEngines)('pages of bookings on %s', (_, createDatabase) => {
  let database: TestDatabase;
  let documents: Documents<BookingDocument>;
  let page: ReturnType<typeof createBookingPages>['page'];

  beforeEach(async () => {
    database = await createDatabase();
    const store = await database.open();
    const opened: Collection<BookingDocument> = { name: 'bookings@1', indexes: bookings.indexes, kind: 'record' };
    documents = await store.open(opened);
    page = createBookingPages({ readModels: { collection: () => readModelOf(documents) } as never }).page;
  });
  afterEach(() => database.remove());

  const insert = async (made: readonly Made[]) => {
    for (const one of made) await documents.insert(String(one.id), documentOf(one));
  };

  /** Turns every page from the first to the last, and all the way back. */
  async function turned(
    account: Account,
    { list, direction }: { list: BookingList; direction: Direction },
    between?: (turn: number) => Promise<void>,
  ) {
    const forth: number[][] = [];
    const back: number[][] = [];
    const idsOf = ({ bookings: shown }: BookingPart) => shown.map((one) => Number(one.bookingId));
    let part = await page(account, { lists: [list], direction, limit: LIMIT });
    expect(part.previous).toBeUndefined();
    forth.push(idsOf(part));
    while (part.next !== undefined) {
      await between?.(forth.length);
      part = await page(account, { lists: [list], direction, limit: LIMIT, after: part.next });
      forth.push(idsOf(part));
    }
    while (part.previous !== undefined) {
      part = await page(account, { lists: [list], direction, limit: LIMIT, before: part.previous });
      back.push(idsOf(part));
    }
    return { forth, back };
  }

  it('list every booking once, by date, hour and id, and lead back over the same pages', async () => {
    const some = fc.uniqueArray(
      fc.record({
        id: fc.integer({ min: 1, max: 60 }),
        date: fc.constantFrom(day('2026-12-09'), day('2026-12-10'), day('2026-12-11')),
        hour: fc.constantFrom(9, 10, 18),
        space: fc.integer({ min: 1, max: 3 }),
      }),
      { selector: ({ id }) => id, maxLength: 20 },
    );
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        some,
        fc.constantFrom<Direction>('ascending', 'descending'),
        fc.constantFrom<readonly number[]>([1, 2, 3], [2, 3]),
        async (made, direction, spaces) => {
          run += 1;
          // Each run has a community of its own.
          const community = communityId(1_000 + run);
          for (const one of made) {
            const id = run * 100 + one.id;
            const own = { ...documentOf(one), communityId: community, bookingId: bookingId(id) };
            await documents.insert(String(id), own);
          }
          const asked = made.filter(({ space }) => spaces.includes(space));
          const sorted = asked.toSorted(inOrder).map(({ id }) => run * 100 + id);
          if (direction === 'descending') sorted.reverse();
          const list = spaces.length === 3 ? {} : { spaceId: { in: spaces } };
          const { forth, back } = await turned({ kind: 'Community', id: community }, { list, direction });
          expect(forth.flat()).toEqual(sorted);
          expect(forth.slice(0, -1).every(({ length }) => length === LIMIT)).toBe(true);
          expect(back).toEqual(forth.slice(0, -1).reverse());
        },
      ),
      { numRuns: 40 },
    );
  });

  it('list every booking exactly once while new ones arrive', async () => {
    const hourOf = (index: number) => 9 + (index % 4);
    const made = Array.from({ length: 12 }, (_, index) => ({
      id: index + 1,
      date: DAY,
      hour: hourOf(index),
      space: 1,
    }));
    await insert(made);
    const arriving = [1, 2, 3].map((turn) => [
      // One before all shown bookings, one in the hour where the page ended, one after all.
      { id: 100 + turn, date: day('2026-12-01'), hour: 9, space: 1 },
      { id: 200 + turn, date: DAY, hour: hourOf(turn - 1), space: 1 },
      { id: 300 + turn, date: day('2026-12-20'), hour: 9, space: 1 },
    ]);
    const { forth } = await turned(COMMUNITY, { list: {}, direction: 'ascending' }, async () =>
      insert(arriving.shift() ?? []),
    );
    const seen = forth.flat();
    expect(new Set(seen).size).toBe(seen.length);
    for (const { id } of made) expect(seen).toContain(id);
    for (const id of [201, 202, 203, 301, 302, 303]) expect(seen).toContain(id);
    expect(seen).not.toContain(101);
  });

  it('do not reveal the hour of another account’s booking', async () => {
    const theirs = {
      ...documentOf({ id: 50, date: day('2026-12-10'), hour: 15, space: 1 }),
      communityId: communityId(2),
    };
    await documents.insert('50', { ...theirs, brandId: brandId(9) });
    await insert([9, 14, 16].map((hour, index) => ({ id: index + 1, date: day('2026-12-10'), hour, space: 1 })));
    const { bookings: shown } = await page(COMMUNITY, {
      direction: 'ascending',
      limit: LIMIT,
      after: { date: day('2026-12-10'), bookingId: 50 },
    });
    expect(shown.map(({ startHour }) => startHour)).toEqual([9, 14, 16]);
  });
});
