import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type Batch,
  type Consume,
  type Consumer,
  type ExpectedRevision,
  LOG_START,
  logEnd,
  type NewEvent,
  type OperatedEventStore,
  type StoredEvent,
  type Subscribe,
  WrongExpectedRevision,
} from '../../src/event-store/event-store.ts';
import { eventually } from '../eventually.ts';

export type Engine = {
  /** Opens another client of the same log, as another process would. */
  readonly open: () => Promise<OperatedEventStore>;
  readonly stop: () => Promise<void>;
};

/** The contract of the port, for every adapter. The log may already hold other events. */
export function eventStoreContract(name: string, start: () => Promise<Engine>): void {
  describe(`event store contract: ${name}`, () => {
    let engine: Engine;
    let store: OperatedEventStore;
    let other: OperatedEventStore;
    const consumers: Consumer[] = [];
    const controllers: AbortController[] = [];

    beforeAll(async () => {
      engine = await start();
      store = await engine.open();
      other = await engine.open();
    });
    afterEach(async () => {
      for (const controller of controllers.splice(0)) controller.abort();
      await Promise.all(consumers.splice(0).map((consumer) => consumer.close()));
    });
    afterAll(async () => {
      await store.close();
      await other.close();
      await engine.stop();
    });

    const unique = (prefix: string): string => `${prefix}-${randomUUID().slice(0, 8)}`;
    const event = (type: string, n = 0, id?: string): NewEvent => ({
      ...(id === undefined ? {} : { id }),
      type,
      data: { n },
      metadata: { at: '2026-01-01T00:00:00Z' },
    });
    const events = (type: string, count: number, from = 0): NewEvent[] =>
      Array.from({ length: count }, (_, index) => event(type, from + index));
    /** The revision of a stream with this many events. */
    const revisionOf = (count: number): ExpectedRevision => (count === 0 ? 'none' : count - 1);
    const numbers = (list: readonly StoredEvent[]): unknown[] => list.map(({ data }) => data.n);

    /** Subscribes, and collects what arrives in the lists it returns. */
    const follow = (
      on: OperatedEventStore,
      options: Subscribe,
    ): { batches: Batch[]; events: StoredEvent[]; end: Promise<void> } => {
      const controller = new AbortController();
      controllers.push(controller);
      const batches: Batch[] = [];
      const seen: StoredEvent[] = [];
      const run = async (): Promise<void> => {
        for await (const batch of on.subscribe({ signal: controller.signal, ...options })) {
          batches.push(batch);
          seen.push(...batch.events);
        }
      };
      return { batches, events: seen, end: run() };
    };
    const consume = async (
      on: OperatedEventStore,
      group: string,
      options: Omit<Consume, 'after'> & Partial<Pick<Consume, 'after'>>,
      handler: (event: StoredEvent) => Promise<void>,
    ): Promise<Consumer> => {
      const consumer = await on.consume(group, { after: () => LOG_START, ...options }, handler);
      consumers.push(consumer);
      return consumer;
    };

    describe('append', () => {
      test('stores data and metadata unchanged', async () => {
        const stream = unique('thing');
        const data = {
          text: 'Ünïcode ☕️ 𝔘 \u0000 "quoted" \\ \n',
          nested: { list: [1, -0.5, 1e300, true, null, []], empty: {} },
          big: Number.MAX_SAFE_INTEGER,
        };
        const metadata = { at: '2026-01-01T00:00:00Z', actor: { kind: 'System' } };
        const id = randomUUID();
        const appended = await store.append(stream, [{ id, type: 'Made', data, metadata }], {
          expectedRevision: 'none',
        });
        expect(await Array.fromAsync(other.readStream(stream))).toEqual([
          { id, type: 'Made', stream, revision: 0, position: appended.position, data, metadata },
        ]);
        expect(appended.revision).toBe(0);
      });

      test('generates missing event ids', async () => {
        const stream = unique('thing');
        await store.append(stream, events('Made', 2), { expectedRevision: 'none' });
        const ids = (await Array.fromAsync(store.readStream(stream))).map(({ id }) => id);
        expect(new Set(ids).size).toBe(2);
        for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      });

      test('checks the expected revision and reports the actual one', async () => {
        const stream = unique('thing');
        const at = (expectedRevision: ExpectedRevision) => store.append(stream, [event('Made')], { expectedRevision });
        const conflict = async (expected: ExpectedRevision, actual: ExpectedRevision): Promise<void> => {
          const error = await at(expected).then(
            () => undefined,
            (reason: unknown) => reason,
          );
          expect(error).toBeInstanceOf(WrongExpectedRevision);
          expect(error).toMatchObject({ stream, expected, actual });
        };
        await conflict(0, 'none');
        expect((await at('none')).revision).toBe(0);
        await conflict('none', 0);
        await conflict(1, 0);
        expect((await at(0)).revision).toBe(1);
        await conflict(0, 1);
        await conflict(5, 1);
        expect((await at(1)).revision).toBe(2);
        expect(await Array.fromAsync(store.readStream(stream))).toHaveLength(3);
      });

      test('appends all of its events or none', async () => {
        const stream = unique('thing');
        await store.append(stream, [event('Made')], { expectedRevision: 'none' });
        await expect(store.append(stream, events('Made', 3), { expectedRevision: 7 })).rejects.toThrow(
          WrongExpectedRevision,
        );
        const broken = [event('Made'), { type: 'Made', data: { n: Number.NaN }, metadata: {} }];
        await expect(store.append(stream, broken, { expectedRevision: 0 })).rejects.toThrow(TypeError);
        expect(await Array.fromAsync(store.readStream(stream))).toHaveLength(1);
      });

      test('gives the events of one append distinct, ascending positions', async () => {
        const stream = unique('thing');
        const before = await store.append(unique('thing'), [event('Made')], { expectedRevision: 'none' });
        const appended = await store.append(stream, events('Made', 5), { expectedRevision: 'none' });
        const after = await store.append(unique('thing'), [event('Made')], { expectedRevision: 'none' });
        expect(appended.revision).toBe(4);
        const positions = (await Array.fromAsync(store.readStream(stream))).map(({ position }) => position);
        expect([...new Set(positions)].sort()).toEqual(positions);
        expect(positions).toHaveLength(5);
        expect(positions.at(-1)).toBe(appended.position);
        expect(LOG_START < before.position).toBe(true);
        expect(before.position < (positions[0] ?? '')).toBe(true);
        expect(appended.position < after.position).toBe(true);
      });

      test('lets exactly one of fifty concurrent appends at the same revision succeed', async () => {
        const stream = unique('thing');
        const appends = Array.from({ length: 50 }, (_, n) =>
          (n % 2 === 0 ? store : other).append(stream, [event('Made', n)], { expectedRevision: 'none' }),
        );
        const results = await Promise.allSettled(appends);
        const lost = results.filter((result) => result.status === 'rejected');
        expect(lost).toHaveLength(49);
        for (const { reason } of lost) {
          expect(reason).toBeInstanceOf(WrongExpectedRevision);
          expect(reason).toMatchObject({ expected: 'none', actual: 0 });
        }
        expect(await Array.fromAsync(store.readStream(stream))).toHaveLength(1);
      });

      test('is not affected by concurrent conflicts on another stream', async () => {
        const taken = unique('taken');
        await store.append(taken, [event('Made')], { expectedRevision: 'none' });
        const streams = Array.from({ length: 20 }, () => unique('thing'));
        const results = await Promise.allSettled(
          streams.flatMap((stream) => [
            store.append(taken, [event('Made')], { expectedRevision: 'none' }),
            store.append(stream, [event('Made')], { expectedRevision: 'none' }),
          ]),
        );
        expect(results.map(({ status }) => status)).toEqual(streams.flatMap(() => ['rejected', 'fulfilled']));
      });

      test('stores each of several concurrent appends to one stream at its expected revision or not at all', async () => {
        const stream = unique('thing');
        const appends = await Promise.allSettled(
          events('Made', 30).map((one, n) => store.append(stream, [one], { expectedRevision: revisionOf(n) })),
        );
        const stored: number[] = [];
        for (const [n, append] of appends.entries()) {
          if (append.status === 'rejected') expect(append.reason).toBeInstanceOf(WrongExpectedRevision);
          else {
            expect(append.value.revision).toBe(n);
            stored.push(n);
          }
        }
        expect(numbers(await Array.fromAsync(store.readStream(stream)))).toEqual(stored);
      });

      test('returns the original result when repeated with the same event ids', async () => {
        const stream = unique('thing');
        const twice = [event('Made', 0, randomUUID()), event('Made', 1, randomUUID())];
        const first = await store.append(stream, twice, { expectedRevision: 'none' });
        expect(await other.append(stream, twice, { expectedRevision: 'none' })).toEqual(first);
        expect(await Array.fromAsync(store.readStream(stream))).toHaveLength(2);
      });

      test.each([
        ['BigInt', 1n],
        ['undefined', undefined],
        ['a function', () => 1],
        ['a symbol', Symbol('s')],
        ['NaN', Number.NaN],
        ['Infinity', Number.POSITIVE_INFINITY],
        ['a Date', new Date(0)],
        ['a Map', new Map()],
      ])('refuses %s in data and gives the path to it', async (_name, value) => {
        const stream = unique('thing');
        const append = (data: unknown, metadata: unknown): Promise<unknown> =>
          // @ts-expect-error: the types forbid it, and so does the store
          store.append(stream, [{ type: 'Made', data, metadata }], { expectedRevision: 'none' });
        await expect(append({ a: { b: [value] } }, {})).rejects.toThrow(/^Made\.data\.a\.b\[0\]: must be plain JSON/);
        await expect(append({}, { c: value })).rejects.toThrow(/^Made\.metadata\.c: must be plain JSON/);
        await expect(append(value, {})).rejects.toThrow(/^Made\.data: must be /);
        expect(await Array.fromAsync(store.readStream(stream))).toEqual([]);
      });

      test('refuses empty appends, system names and ids that are not UUIDs', async () => {
        const first = { expectedRevision: 'none' } as const;
        await expect(store.append(unique('thing'), [], first)).rejects.toThrow(TypeError);
        await expect(store.append('', [event('Made')], first)).rejects.toThrow(TypeError);
        await expect(store.append('$system', [event('Made')], first)).rejects.toThrow(TypeError);
        await expect(store.append(unique('thing'), [event('')], first)).rejects.toThrow(TypeError);
        await expect(store.append(unique('thing'), [event('$Made')], first)).rejects.toThrow(TypeError);
        await expect(store.append(unique('thing'), [event('Made', 0, 'one')], first)).rejects.toThrow(TypeError);
      });

      test('stores large events', async () => {
        const stream = unique('thing');
        const text = 'é'.repeat(200_000);
        await store.append(stream, [{ type: 'Made', data: { text }, metadata: {} }], { expectedRevision: 'none' });
        const [stored] = await Array.fromAsync(other.readStream(stream));
        expect(stored?.data.text === text).toBe(true);
      });
    });

    // Before the tests that fill the log, because a new group starts at the beginning of the log.
    describe('consume', () => {
      test('delivers every event of its types to the group once, from the start of the log, then live', async () => {
        const type = unique('Made');
        const group = unique('group');
        await store.append(unique('thing'), [...events(type, 40), event(unique('Unwanted'))], {
          expectedRevision: 'none',
        });
        const seen: StoredEvent[] = [];
        await consume(store, group, { types: [type] }, async (one) => void seen.push(one));
        await eventually(() => expect(seen).toHaveLength(40));
        await other.append(unique('thing'), events(type, 10, 40), { expectedRevision: 'none' });
        await eventually(() => expect(seen).toHaveLength(50));
        await sleep(100);
        expect(numbers(seen).toSorted((a, b) => Number(a) - Number(b))).toEqual(
          Array.from({ length: 50 }, (_, n) => n),
        );
        expect(seen[0]).toMatchObject({
          type,
          metadata: { at: '2026-01-01T00:00:00Z' },
          data: { n: expect.any(Number) },
        });
        const [first] = await Array.fromAsync(store.readAll({ types: [type], limit: 1 }));
        expect(seen.find(({ data }) => data.n === 0)).toEqual(first);
      });

      test('hands out what comes after, to another client too', async () => {
        const type = unique('Made');
        const group = unique('group');
        await store.append(unique('thing'), events(type, 5), { expectedRevision: 'none' });
        const seen: unknown[] = [];
        const first = await consume(store, group, { types: [type] }, async ({ data }) => void seen.push(data.n));
        await eventually(() => expect(seen).toHaveLength(5));
        await first.close();
        const end = await logEnd(store);
        await consume(other, group, { types: [type], after: () => end }, async ({ data }) => void seen.push(data.n));
        await store.append(unique('thing'), events(type, 5, 5), { expectedRevision: 'none' });
        await eventually(() => expect(new Set(seen)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])));
      });

      test('handles at most the requested number of events concurrently', async () => {
        const type = unique('Made');
        let running = 0;
        let most = 0;
        let done = 0;
        await store.append(unique('thing'), events(type, 30), { expectedRevision: 'none' });
        await consume(store, unique('group'), { types: [type], concurrency: 3 }, async () => {
          most = Math.max(most, ++running);
          await sleep(2);
          running -= 1;
          done += 1;
        });
        await eventually(() => expect(done).toBe(30));
        expect(most).toBe(3);
      });

      test('redelivers an event each time its handler throws, and parks nothing', async () => {
        const type = unique('Made');
        const group = unique('group');
        let attempts = 0;
        const handled: unknown[] = [];
        await store.append(unique('thing'), events(type, 3), { expectedRevision: 'none' });
        await consume(store, group, { types: [type] }, async ({ data }) => {
          if (data.n === 1 && ++attempts < 5) throw new Error('not now');
          handled.push(data.n);
        });
        await eventually(() => expect(new Set(handled)).toEqual(new Set([0, 1, 2])));
        expect(attempts).toBe(5);
        await sleep(300);
        expect(attempts).toBe(5);
      });

      test('closes while an event waits for another try', async () => {
        const type = unique('Made');
        const group = unique('group');
        let tries = 0;
        await store.append(unique('thing'), events(type, 3), { expectedRevision: 'none' });
        const consumer = await consume(store, group, { types: [type] }, async () => {
          tries += 1;
          throw new Error('cannot go on');
        });
        await eventually(() => expect(tries).toBeGreaterThan(8));
        await consumer.close();
        const handled: unknown[] = [];
        await consume(other, group, { types: [type] }, async ({ data }) => void handled.push(data.n));
        await eventually(() => expect(new Set(handled)).toEqual(new Set([0, 1, 2])));
      });

      test('a new group begins after a position, whichever client joins it', async () => {
        const type = unique('Made');
        const stream = unique('thing');
        await store.append(stream, events(type, 4), { expectedRevision: 'none' });
        const [, second] = await Array.fromAsync(store.readStream(stream));
        const after = second?.position ?? expect.fail();
        const seen: StoredEvent[] = [];
        await consume(
          other,
          unique('group'),
          { types: [type], after: () => after },
          async (one) => void seen.push(one),
        );
        await other.append(stream, [event(type, 4)], { expectedRevision: 3 });
        await eventually(() => expect(new Set(numbers(seen))).toEqual(new Set([...numbers(seen), 2, 3, 4])));
        // An engine may hand out the event at the position again, but none that lies further back.
        expect(seen.every(({ position }) => position >= after)).toBe(true);
      });

      test('a group never consumes other event types', async () => {
        const [known, unknown] = [unique('Known'), unique('Unknown')];
        await store.append(unique('thing'), [event(unknown, 1), event(known, 2), event(unknown, 3)], {
          expectedRevision: 'none',
        });
        const handled: unknown[] = [];
        await consume(store, unique('group'), { types: [known] }, async ({ data }) => void handled.push(data.n));
        await eventually(() => expect(handled).toEqual([2]));
        await sleep(100);
        expect(handled).toEqual([2]);
      });

      test('closing waits for running handlers and takes no more events', async () => {
        const type = unique('Made');
        const group = unique('group');
        let started = 0;
        let ended = 0;
        await store.append(unique('thing'), events(type, 20), { expectedRevision: 'none' });
        const consumer = await consume(store, group, { types: [type], concurrency: 4 }, async () => {
          started += 1;
          await sleep(150);
          ended += 1;
        });
        await eventually(() => expect(started).toBeGreaterThan(0));
        await consumer.close();
        expect(ended).toBe(started);
        const atClose = started;
        await sleep(200);
        expect(started).toBe(atClose);
        // The next consumer gets the rest.
        const rest = new Set<unknown>();
        await consume(other, group, { types: [type] }, async ({ data }) => void rest.add(data.n));
        await eventually(() => expect(rest.size).toBeGreaterThanOrEqual(20 - atClose));
      });
    });

    describe('readAll', () => {
      test('reads events of the requested types, after a position, up to a limit', async () => {
        const [wanted, unwanted] = [unique('Wanted'), unique('Unwanted')];
        for (let n = 0; n < 6; n += 1) {
          await store.append(unique('thing'), [event(wanted, n), event(unwanted, n)], { expectedRevision: 'none' });
        }
        const types = [wanted];
        const all = await Array.fromAsync(store.readAll({ types }));
        expect(numbers(all)).toEqual([0, 1, 2, 3, 4, 5]);
        expect(all.map(({ position }) => position)).toEqual(all.map(({ position }) => position).sort());
        const read = async (options: Parameters<OperatedEventStore['readAll']>[0]): Promise<unknown[]> =>
          numbers(await Array.fromAsync(other.readAll({ types, ...options })));
        const middle = all[2]?.position ?? '';
        expect(await read({ after: LOG_START })).toEqual([0, 1, 2, 3, 4, 5]);
        expect(await read({ after: middle })).toEqual([3, 4, 5]);
        expect(await read({ after: middle, limit: 1 })).toEqual([3]);
        expect(await read({ limit: 2 })).toEqual([0, 1]);
        expect(await read({ limit: 0 })).toEqual([]);
        expect(await read({ types: [wanted, unwanted], limit: 3 })).toEqual([0, 0, 1]);
        expect(await read({ types: [unique('Never')] })).toEqual([]);
      });

      test('continues after a position in the middle of an append', async () => {
        const type = unique('Made');
        await store.append(unique('thing'), events(type, 3), { expectedRevision: 'none' });
        const [first] = await Array.fromAsync(store.readAll({ types: [type] }));
        expect(numbers(await Array.fromAsync(store.readAll({ types: [type], after: first?.position ?? '' })))).toEqual([
          1, 2,
        ]);
      });

      test('reads thousands of events without a filter, but no system events', async () => {
        const type = unique('Made');
        const { position } = await store.append(unique('thing'), [event(unique('Before'))], {
          expectedRevision: 'none',
        });
        for (let from = 0; from < 2_000; from += 500) {
          await store.append(unique('thing'), events(type, 500, from), { expectedRevision: 'none' });
        }
        let next = 0;
        for await (const one of store.readAll({ after: position })) {
          expect(one.type.startsWith('$')).toBe(false);
          if (one.type === type) expect(one.data.n).toBe(next++);
        }
        expect(next).toBe(2_000);
      });

      test('refuses a position of another engine', async () => {
        await expect(Array.fromAsync(store.readAll({ after: 'nonsense' }))).rejects.toThrow(TypeError);
      });
    });

    test('finds the last event of the log', async () => {
      for (let n = 0; n < 3; n += 1) {
        const { position } = await store.append(unique('thing'), events('Made', 2), { expectedRevision: 'none' });
        expect(await other.lastEvent()).toMatchObject({ position, revision: 1 });
      }
    });

    describe('load', () => {
      test.each(['with their positions', 'without positions'])(
        'copies the events of another log into an empty one, in order, %s',
        async (which) => {
          const [one, another] = [unique('thing'), unique('thing')];
          await store.append(one, events('Made', 2), { expectedRevision: 'none' });
          await store.append(another, [event('Bought')], { expectedRevision: 'none' });
          await store.append(one, [event('Sold')], { expectedRevision: 1 });
          const wanted = (await Array.fromAsync(store.readAll())).filter(({ stream }) =>
            [one, another].includes(stream),
          );

          const second = await start();
          const filled = await second.open();
          try {
            const given = which === 'with their positions' ? wanted : wanted.map(({ position: _, ...each }) => each);
            const positions = [...(await filled.load(given.slice(0, 2))), ...(await filled.load(given.slice(2)))];
            const found = await Array.fromAsync(filled.readAll());
            expect(found).toEqual(wanted.map((each, index) => ({ ...each, position: positions[index] })));
            expect(positions.toSorted()).toEqual(positions);
            await filled.append(one, [event('Made')], { expectedRevision: 2 });
            await expect(filled.load(wanted.slice(1, 2).map((each) => ({ ...each, revision: 9 })))).rejects.toThrow(
              WrongExpectedRevision,
            );
          } finally {
            await filled.close();
            await second.stop();
          }
        },
      );
    });

    describe('readStream', () => {
      test('reads a missing stream as empty', async () => {
        expect(await Array.fromAsync(store.readStream(unique('thing')))).toEqual([]);
      });

      test('reads from a revision, up to a limit', async () => {
        const stream = unique('thing');
        await store.append(stream, events('Made', 10), { expectedRevision: 'none' });
        const read = async (options: Parameters<OperatedEventStore['readStream']>[1]): Promise<unknown[]> =>
          numbers(await Array.fromAsync(store.readStream(stream, options)));
        expect(await read({})).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        expect(await read({ from: 7 })).toEqual([7, 8, 9]);
        expect(await read({ from: 7, limit: 2 })).toEqual([7, 8]);
        expect(await read({ limit: 3 })).toEqual([0, 1, 2]);
        expect(await read({ limit: 0 })).toEqual([]);
        expect(await read({ from: 10 })).toEqual([]);
      });

      test('reads a stream of thousands of events in order, and stops when its reader does', async () => {
        const stream = unique('thing');
        for (let from = 0; from < 3_000; from += 500) {
          await store.append(stream, events('Made', 500, from), { expectedRevision: revisionOf(from) });
        }
        let next = 0;
        for await (const { revision, data } of store.readStream(stream)) {
          expect([revision, data.n]).toEqual([next, next]);
          next += 1;
        }
        expect(next).toBe(3_000);
        for await (const { revision } of store.readStream(stream, { from: 2_000 })) {
          next = revision;
          if (next === 2_500) break;
        }
        expect(next).toBe(2_500);
      });
    });

    describe('subscribe', () => {
      test('catches up, then goes live, without gaps or duplicates', async () => {
        const type = unique('Made');
        const stream = unique('thing');
        await store.append(stream, events(type, 700), { expectedRevision: 'none' });
        const followed = follow(store, { types: [type] });
        const writing = (async () => {
          for (let n = 700; n < 760; n += 2)
            await other.append(stream, events(type, 2, n), { expectedRevision: n - 1 });
        })();
        await writing;
        await eventually(() => expect(followed.events).toHaveLength(760));
        expect(numbers(followed.events)).toEqual(Array.from({ length: 760 }, (_, n) => n));
        expect(followed.batches.at(-1)).toMatchObject({ caughtUp: true });
        const positions = followed.batches.map(({ position }) => position);
        expect(positions).toEqual([...positions].sort());
      });

      test('starts after a position, even in the middle of an append', async () => {
        const type = unique('Made');
        await store.append(unique('thing'), events(type, 5), { expectedRevision: 'none' });
        const [, second] = await Array.fromAsync(store.readAll({ types: [type] }));
        const followed = follow(store, { types: [type], after: second?.position ?? '' });
        await eventually(() => expect(numbers(followed.events)).toEqual([2, 3, 4]));
      });

      test('advances its position past events that the filter drops', async () => {
        const { position } = await store.append(unique('thing'), [event(unique('Made'))], { expectedRevision: 'none' });
        const followed = follow(store, { types: [unique('Never')], after: position });
        await eventually(() => expect(followed.batches.length).toBeGreaterThan(0));
        // Enough to trigger a checkpoint of EventStoreDB's filter.
        const passed = await store.append(unique('thing'), events(unique('Made'), 2_000), { expectedRevision: 'none' });
        await store.append(unique('thing'), events(unique('Made'), 2_000), { expectedRevision: 'none' });
        await eventually(() => expect((followed.batches.at(-1)?.position ?? '') >= passed.position).toBe(true));
        expect(followed.events).toEqual([]);
      });

      test('wakes subscribers of this and of other clients', async () => {
        const type = unique('Made');
        const here = follow(store, { types: [type] });
        const there = follow(other, { types: [type] });
        await eventually(() => expect(Math.min(here.batches.length, there.batches.length)).toBeGreaterThan(0));
        await store.append(unique('thing'), [event(type, 1)], { expectedRevision: 'none' });
        await other.append(unique('thing'), [event(type, 2)], { expectedRevision: 'none' });
        await eventually(() =>
          expect([numbers(here.events), numbers(there.events)]).toEqual([
            [1, 2],
            [1, 2],
          ]),
        );
      });

      test('ends without an error when its signal aborts', async () => {
        const controller = new AbortController();
        const idle = follow(store, { types: [unique('Never')], signal: controller.signal });
        await eventually(() => expect(idle.batches.length).toBeGreaterThan(0));
        controller.abort();
        await idle.end;
        const late = follow(store, { signal: controller.signal });
        await late.end;
        expect(late.batches).toEqual([]);
      });

      test('ends when its reader breaks out of the loop', async () => {
        const type = unique('Made');
        await store.append(unique('thing'), events(type, 3), { expectedRevision: 'none' });
        for await (const batch of store.subscribe({ types: [type] })) if (batch.events.length > 0) break;
      });
    });

    test('responds to a ping while open and rejects every call after close', async () => {
      const closed = await engine.open();
      await closed.ping();
      const controller = new AbortController();
      const followed = (async () => {
        for await (const batch of closed.subscribe({ signal: controller.signal })) expect(batch).toBeDefined();
      })();
      await closed.close();
      await followed;
      await closed.close();
      await expect(closed.ping()).rejects.toThrow('closed');
      await expect(closed.append(unique('thing'), [event('Made')], { expectedRevision: 'none' })).rejects.toThrow(
        'closed',
      );
      await expect(Array.fromAsync(closed.readStream(unique('thing')))).rejects.toThrow('closed');
    });
  });
}
