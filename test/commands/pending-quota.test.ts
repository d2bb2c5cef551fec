import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openPendingQuota, pendingLimitOf, type PendingQuota as Quota } from '../../src/commands/pending-quota.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { type BookingId, type BrandId, bookingId, brandId } from '../../src/domain/ids.ts';
import type { BookingStatus } from '../../src/domain/space-day.ts';
import { documentEngines, onlyEmbedded, type TestDatabase } from '../document-store/engines.ts';

type PendingQuota = { take(id: BrandId, request: Parameters<Quota['take']>[1]): ReturnType<Quota['take']> } & Pick<
  Quota,
  'release'
>;

const ACME = brandId(1);
const STREAM = 'spaceDay-1-2026-12-10';
const MINUTE = 60_000;

/** A log, a read model that may lag behind it, and a clock that never goes back. */
function world() {
  const log = new Map<BookingId, BookingStatus>();
  let inReadModel: ReadonlyMap<BookingId, BookingStatus> = new Map();
  let now = 0;
  return {
    log,
    pending: () => [...log.values()].filter((status) => status === 'Pending').length,
    catchUp: () => {
      inReadModel = new Map(log);
    },
    pass: (ms: number) => {
      now += ms;
    },
    /** The quota as another process sees it. */
    async open(database: TestDatabase, max: number): Promise<PendingQuota> {
      const limit = pendingLimitOf({}, max);
      if (limit === undefined) throw new Error('There is no limit');
      const quota = await openPendingQuota({
        documents: await database.open(),
        monotonic: () => now,
        statuses: {
          inReadModel: async (ids) => new Map([...inReadModel].filter(([id]) => ids.includes(id))),
          inLog: async (id) => log.get(id),
          pending: async () =>
            [...inReadModel].flatMap(([id, status]) =>
              status === 'Pending' ? [{ bookingId: id, stream: STREAM }] : [],
            ),
        },
      });
      return { take: (id, request) => quota.take(id, request, limit), release: quota.release };
    },
  };
}

/** @returns undefined if the brand has as many as allowed */
async function take(quota: PendingQuota, id: number, idempotencyKey?: string, stream = STREAM) {
  const request = { bookingId: bookingId(id), stream, ...(idempotencyKey !== undefined && { idempotencyKey }) };
  const taken = await quota.take(ACME, request);
  return isRefusal(taken) ? undefined : taken;
}

describe.each(documentEngines)('on %s', (_, createDatabase) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.remove());

  test('two processes with many requests at the same moment count no more than the limit', async () => {
    const { open } = world();
    const processes = [await open(database, 5), await open(database, 5)] as const;
    const outcomes = await Promise.all(Array.from({ length: 30 }, (_, i) => take(processes[i % 2] ?? processes[0], i)));
    expect(outcomes.filter((taken) => taken !== undefined)).toHaveLength(5);
  });
});

describe.each(onlyEmbedded)('a brand at its limit, on %s', (_, createDatabase) => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.remove());

  test('has room again once a request is refused', async () => {
    const quota = await world().open(database, 2);
    await take(quota, 1);
    await take(quota, 2);
    expect(await take(quota, 3)).toBeUndefined();
    await quota.release(ACME, bookingId(1));
    expect(await take(quota, 3)).toBeDefined();
    expect(await take(quota, 4)).toBeUndefined();
  });

  test('takes no more for a repetition, and loses nothing when the repetition is released', async () => {
    const quota = await world().open(database, 1);
    await take(quota, 1, 'key');
    expect(await take(quota, 2, 'key')).toBeDefined();
    await quota.release(ACME, bookingId(2));
    expect(await take(quota, 3)).toBeUndefined();
    // On another day the same key is another request: its claim has expired.
    expect(await take(quota, 4, 'key', 'spaceDay-1-2026-12-11')).toBeUndefined();
  });

  test('has room again for what a process that died left behind: an answered request at once, one never appended after ten minutes', async () => {
    const { log, pass, open } = world();
    const dead = await open(database, 2);
    await take(dead, 1);
    await take(dead, 2);
    log.set(bookingId(1), 'Approved');

    const quota = await open(database, 2);
    expect(await take(quota, 3)).toBeDefined();
    pass(9 * MINUTE);
    expect(await take(quota, 4)).toBeUndefined();
    pass(MINUTE);
    expect(await take(quota, 4)).toBeDefined();
  });

  test('counts a request that the read model has not inReadModel for ten minutes, if the log has it', async () => {
    const { log, pass, open } = world();
    const quota = await open(database, 1);
    await take(quota, 1);
    log.set(bookingId(1), 'Pending');
    expect(await take(quota, 2)).toBeUndefined();
    pass(60 * MINUTE);
    expect(await take(quota, 2)).toBeUndefined();
  });

  test('counts the requests that were made before there was a limit', async () => {
    const { log, catchUp, open } = world();
    for (const id of [1, 2, 3]) log.set(bookingId(id), 'Pending');
    catchUp();
    const quota = await open(database, 4);
    expect(await take(quota, 4)).toBeDefined();
    expect(await take(quota, 5)).toBeUndefined();
  });

  test('does not let a request be appended that was counted too long ago', async () => {
    const { pass, open } = world();
    const taken = await take(await open(database, 1), 1);
    expect(taken?.isValid()).toBe(true);
    pass(5 * MINUTE);
    expect(taken?.isValid()).toBe(false);
  });
});

test.each(onlyEmbedded)(
  'however processes on %s act, die and lag, the log never exceeds the limit, and abandoned requests are dropped in the end',
  async (_, createDatabase) => {
    const LIMIT = 3;
    const step = fc.record({
      what: fc.constantFrom('take', 'append', 'refuse', 'die', 'answer', 'catch up', 'wait'),
      which: fc.nat(20),
      process: fc.nat(1),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const database = await createDatabase();
        try {
          const { log, pending, catchUp, pass, open } = world();
          const processes = [await open(database, LIMIT), await open(database, LIMIT)] as const;
          let next = 1;
          /** Requests that are counted and not yet appended. */
          const counted: { readonly id: BookingId; readonly quota: PendingQuota; readonly isValid: () => boolean }[] =
            [];
          for (const { what, which, process } of steps) {
            const quota = processes[process === 0 ? 0 : 1];
            const [unanswered] = [...log].filter(([, status]) => status === 'Pending').slice(which % LIMIT);
            const [one] = ['append', 'refuse', 'die'].includes(what)
              ? counted.splice(which % (counted.length || 1), 1)
              : [];
            if (what === 'take') {
              const id = bookingId(next++);
              const taken = await take(quota, id);
              if (taken !== undefined) counted.push({ id, quota, isValid: taken.isValid });
            }
            if (what === 'append' && one?.isValid()) log.set(one.id, 'Pending');
            if (what === 'refuse' && one !== undefined) await one.quota.release(ACME, one.id);
            if (what === 'answer' && unanswered !== undefined) log.set(unanswered[0], 'Cancelled');
            if (what === 'catch up') catchUp();
            if (what === 'wait') pass(4 * MINUTE);
            expect(pending()).toBeLessThanOrEqual(LIMIT);
          }
          catchUp();
          const fill = async (): Promise<number> => {
            let room = 0;
            while (room <= LIMIT && (await take(processes[0], next++)) !== undefined) room += 1;
            return room;
          };
          await fill();
          pass(10 * MINUTE);
          expect(await fill()).toBe(LIMIT - pending());
        } finally {
          await database.remove();
        }
      }),
      { numRuns: 30 },
    );
  },
);
