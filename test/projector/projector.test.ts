import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Row } from '../../projections/projection.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { readHolder } from '../../src/leases/read-holder.ts';
import { Fenced, openGeneration } from '../../src/projector/follow.ts';
import { listReadModels } from '../../src/projector/listing.ts';
import { collectionOf, entriesOf, generationName, openCatalogue } from '../../src/read-models/generations.ts';
import { projectorLease, READ_MODEL_LEASES } from '../../src/read-models/leases.ts';
import type { LiveReadModels } from '../../src/read-models/read-models.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { ask } from '../document-store/ask.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { changedStore } from '../event-store/changed-store.ts';
import { eventually } from '../eventually.ts';
import {
  appendMany,
  BOTH,
  beating,
  catalogueOf,
  ends,
  events,
  eventsIn,
  expectToBeHealthy,
  expectToEqualTheLog,
  failuresIn,
  fragile,
  liveOf,
  logger,
  logOfEachTest,
  read,
  readers,
  rebuildIn,
  start,
  withOtherLeases,
} from './projector.fixture.ts';
import { appendEvent, type Count, counts, expected, trails } from './space-trails.ts';

logOfEachTest();

describe.each(documentEngines)('projector on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let documents: OperatedDocumentStore;
  const holder = () => readHolder(documents, READ_MODEL_LEASES, projectorLease(generationName(BOTH)));
  /** The read models as another process sees them. */
  let elsewhere: LiveReadModels;

  beforeEach(async () => {
    database = await createDatabase();
    ends.push(() => database.remove());
    documents = await database.open();
    elsewhere = await read(await database.open());
    logger.error.mockClear();
    logger.warn.mockClear();
  });

  it('folds the log, and readers in every process can wait for it', async () => {
    const { readModels } = await start(documents);
    expect(await readModels.readable(10_000)).toBe(true);
    for (let round = 0; round < 5; round++) {
      const position = await appendMany(20);
      const reached = await Promise.all([readModels, elsewhere].map((reader) => reader.waitFor(position)));
      expect(reached).toEqual([true, true]);
      for (const reader of [readModels, elsewhere]) {
        await expectToEqualTheLog(reader, trails());
        await expectToEqualTheLog(reader, counts);
      }
    }
    await expectToBeHealthy(elsewhere);
    expect(logger.error).not.toHaveBeenCalled();
  });

  it('extends no wait when the status is read during it', async () => {
    await start(documents);
    await elsewhere.readable(10_000);
    for (let round = 0; round < 10; round++) {
      const position = await appendMany(1);
      let waiting = true;
      const reached = elsewhere.waitFor(position).finally(() => {
        waiting = false;
      });
      for (; waiting; await delay(0)) await elsewhere.status();
      expect(await reached).toBe(true);
    }
  });

  it('returns false when a wait times out, and measures the lag', async () => {
    const first = await start(documents);
    await first.readModels.readable(10_000);
    await elsewhere.readable(10_000);
    await first.stop();
    const position = await appendMany(5);
    expect(await elsewhere.waitFor(position, { timeoutMs: 30 })).toBe(false);
    expect(await elsewhere.status()).toMatchObject({
      lag: 5,
      problems: BOTH.map(({ name }) => ({ readModel: name, state: 'unattended', readable: true })),
    });
    expect((await elsewhere.status(3)).lag).toBe(3);
    expect(await elsewhere.collection(trails()).get('0')).toBeUndefined();
  });

  it('calls no read model unattended while a process has yet to take over, as for a moment after a restart', async () => {
    const first = await start(documents);
    await first.readModels.readable(10_000);
    const second = await start(documents, BOTH);
    await second.readModels.readable(10_000);
    await first.stop();
    expect(await second.readModels.status()).toMatchObject({ lag: 0, problems: [] });
  });

  it('refuses to read a collection that has not been built, instead of returning nothing', async () => {
    await appendMany(5);
    await expect(elsewhere.collection(trails()).get('0')).rejects.toThrow(Unavailable);
    await expect(Array.fromAsync(elsewhere.collection(trails()).find(ask()))).rejects.toThrow(Unavailable);
    await expect(elsewhere.collection(trails()).count(ask())).rejects.toThrow(
      /trails has not been built yet.*no process keeps it up to date/,
    );
    expect(await elsewhere.status()).toMatchObject({
      problems: [
        { readModel: 'trails', state: 'building', readable: false },
        { readModel: 'counts', state: 'building', readable: false },
      ],
    });
  });

  it('projects in one process at a time, and another takes over immediately after a clean stop', async () => {
    // No pause of this busy process counts as a death.
    const heartbeats = await beating(documents, 20_000);
    const first = await start(documents, BOTH, { heartbeats });
    await elsewhere.readable(10_000);
    await elsewhere.waitFor(await appendMany(10));
    const other = await database.open();
    const standby = await beating(other, 20_000);
    await start(other, BOTH, { heartbeats: standby });
    await elsewhere.waitFor(await appendMany(10));
    expect(await holder()).toBe(heartbeats.session);
    // The process lives on, so that no silence frees the lease.
    await first.stopProjecting();
    expect(await elsewhere.waitFor(await appendMany(10))).toBe(true);
    expect(await holder()).toBe(standby.session);
    await expectToEqualTheLog(elsewhere, trails());
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('leaves the read models to a process that reaches the log', async () => {
    let since: number | undefined;
    let isReached = true;
    const cutOff = changedStore(events, {
      ping: async () => {
        if (!isReached) throw new Error('No route to the log');
      },
      // As after an outage of four seconds.
      outage: {
        since: () => since,
        suspect(_, at = performance.now()) {
          since ??= at - 4_000;
        },
      },
    });
    const heartbeats = await beating(documents);
    const first = await start(documents, BOTH, { events: cutOff, heartbeats });
    await first.readModels.readable(10_000);
    const other = await database.open();
    const standby = await beating(other);
    const second = await start(other, BOTH, { heartbeats: standby });
    expect(await holder()).toBe(heartbeats.session);
    isReached = false;
    await eventually(async () => expect(await holder()).toBe(standby.session));
    await eventually(() => expect([first.isActive(), second.isActive()]).toEqual([false, true]));
    expect(await elsewhere.waitFor(await appendMany(10))).toBe(true);
    await expectToEqualTheLog(elsewhere, counts);
    // It stands by again.
    [isReached, since] = [true, undefined];
    await second.stop();
    await eventually(async () => expect(await holder()).toBe(heartbeats.session));
  });

  it('stays correct when two processes believe that they hold the lease', async () => {
    const first = await start(documents);
    await first.readModels.readable(10_000);
    await start(withOtherLeases(await database.open()));
    let position = await appendMany(200);
    for (let round = 0; round < 10; round++) position = await appendMany(20);
    expect(await elsewhere.waitFor(position)).toBe(true);
    await expectToEqualTheLog(elsewhere, trails());
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('shows what a rebuild has repaired in the process that projects, which has read it before', async () => {
    const { readModels } = await start(documents);
    await readModels.waitFor(await appendMany(20));
    await expectToEqualTheLog(readModels, counts);
    // An operator changes and removes documents by hand.
    const other = await database.open();
    const byHand = await other.open<Count>(collectionOf(counts, await liveOf(other)));
    await byHand.update('1', (document) => document && { ...document, events: 0 });
    await byHand.delete('2');
    await rebuildIn(other);
    await expectToEqualTheLog(readModels, counts);
    expect((await readModels.collection(counts).get('2'))?.events).toBeGreaterThan(0);
  });

  it('answers nothing from memory once another process may project', async () => {
    let gate: PromiseWithResolvers<void> | undefined;
    /** A process that hangs, except that it answers reads. */
    const hanging: OperatedDocumentStore = {
      ...documents,
      async open(collection) {
        const opened = await documents.open(collection);
        if (collection.name !== 'heartbeats') return opened;
        return {
          ...opened,
          async update(...args) {
            await gate?.promise;
            return opened.update(...args);
          },
        };
      },
    };
    const { readModels } = await start(documents, BOTH, {
      heartbeats: await beating(hanging),
      events: changedStore(events, {
        async *subscribe(options) {
          for await (const batch of events.subscribe(options)) {
            await gate?.promise;
            yield batch;
          }
        },
      }),
    });
    await readModels.readable(10_000);
    await readModels.waitFor(await appendMany(20));
    const eachCount = async () => {
      const wanted = await expected(events, counts);
      const stored = await Promise.all([...wanted.keys()].map((key) => readModels.collection(counts).get(key)));
      expect(stored).toEqual([...wanted.values()]);
    };
    await eachCount();
    await expectToEqualTheLog(readModels, trails());

    gate = Promise.withResolvers();
    ends.push(async () => gate?.resolve());
    const second = await start(await database.open());
    expect(await second.readModels.waitFor(await appendMany(20))).toBe(true);
    await eachCount();
    await expectToEqualTheLog(readModels, trails());
  });

  it('answers no command for what it has written too late, when another process may project', async () => {
    const first = await start(documents);
    await first.readModels.readable(10_000);
    await first.stop();
    let isHeld = true;
    let writes = 0;
    const slow: OperatedDocumentStore = {
      ...documents,
      project: (generation, changes, checkpoint, onWritten) =>
        documents.project(generation, changes, checkpoint, () => {
          writes += 1;
          isHeld = false;
          onWritten?.();
        }),
    };
    const reached = vi.fn();
    const id = await liveOf(documents);
    const deps = { events, documents: slow, projections: BOTH, logger, reached, isHeld: () => isHeld };
    const position = await appendMany(5);
    const stopping = new AbortController();
    ends.push(async () => stopping.abort());
    const late = await openGeneration({ ...deps, signal: stopping.signal }, id, 'follow');
    const outcome = late.follow().catch((error: unknown) => error);
    await eventually(() => expect(writes).toBe(1));
    await delay(100);
    expect(reached).not.toHaveBeenCalled();
    expect(await outcome).toBeInstanceOf(Fenced);
    await start(documents);
    expect(await elsewhere.waitFor(position)).toBe(true);
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('keeps projecting the other read models when one fails, names the failed one, and recovers', async () => {
    let broken = true;
    const projections = [fragile(() => broken), trails()];
    const projector = await start(documents, projections);
    await elsewhere.readable(10_000);
    await elsewhere.waitFor(await appendEvent(events, 1, 'SpaceAdded'));
    const failing = await appendEvent(events, 3, 'SpaceAdded');
    // A client that one process has answered reads no stale data from another.
    expect(await projector.readModels.waitFor(failing)).toBe(true);
    await expect(elsewhere.collection(counts).get('1')).rejects.toThrow(Unavailable);
    await eventually(async () =>
      expect((await elsewhere.status()).problems).toEqual([
        {
          readModel: 'counts',
          state: 'failing',
          readable: false,
          attempts: expect.any(Number),
          message: expect.stringMatching(/Projection counts failed on SpaceAdded .*cannot count/),
          event: expect.any(String),
        },
      ]),
    );
    // Neither stale nor empty data; the other read model and waiting requests continue.
    await expect(elsewhere.collection(counts).get('1')).rejects.toThrow(Unavailable);
    const position = await appendEvent(events, 4, 'SpaceAdded');
    expect(await elsewhere.waitFor(position)).toBe(true);
    await expectToEqualTheLog(elsewhere, trails());
    expect(await projector.readModels.waitFor(failing, { projections: [counts], timeoutMs: 50 })).toBe(false);
    expect((await elsewhere.status()).lag).toBe(0);

    // It is retried continually, which is logged once.
    await eventually(async () => expect((await failuresIn(documents))[0]?.attempts).toBeGreaterThanOrEqual(2));
    expect(logger.error).toHaveBeenCalledTimes(1);

    broken = false;
    expect(await elsewhere.waitFor(position, { projections: [counts] })).toBe(true);
    await expectToBeHealthy(elsewhere);
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('waits until all processes refuse a failing read model, also after a death', async () => {
    const projections = [fragile(() => true), trails()];
    const first = await start(documents, projections);
    await elsewhere.readable(10_000);
    await first.stop();
    const id = await liveOf(documents);
    const checkpoint = (await documents.checkpoints([id])).get(id) ?? expect.unreachable();
    await elsewhere.collection(counts).get('3');
    const { name } = counts;
    const failing = [{ name, position: checkpoint.position, message: 'cannot count', attempts: 1 }];
    await documents.project(id, new Map(), { ...checkpoint, failing, after: checkpoint.position });
    const position = await appendEvent(events, 3, 'SpaceAdded');
    const second = await start(await database.open(), projections);
    expect(await second.readModels.waitFor(position)).toBe(true);
    await expect(elsewhere.collection(counts).get('3')).rejects.toThrow(Unavailable);
  });

  it('keeps projecting the other read models when the documents of one cannot be written, until they can', async () => {
    let broken = false;
    const refused = () => Promise.reject(new Error('The document is too large'));
    await start({
      ...documents,
      async open(collection) {
        const opened = await documents.open(collection);
        const isBroken = () => broken && collection.name === 'counts';
        return { ...opened, project: (writes) => (isBroken() ? refused() : opened.project(writes)) };
      },
      project: (generation, writes, ...rest) =>
        broken && writes.has('counts') ? refused() : documents.project(generation, writes, ...rest),
    });
    await elsewhere.readable(10_000);
    broken = true;
    const position = await appendMany(20);
    expect(await elsewhere.waitFor(position)).toBe(true);
    await expectToEqualTheLog(elsewhere, trails());
    await expect(elsewhere.collection(counts).get('0')).rejects.toThrow(Unavailable);
    expect((await failuresIn(documents))[0]?.message).toMatch(/counts failed to read or write .* too large/);
    broken = false;
    expect(await elsewhere.waitFor(await appendMany(20), { projections: BOTH })).toBe(true);
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('keeps the live generation in use when a rebuild fails, says why, and drops what it has built', async () => {
    await start(documents);
    await elsewhere.readable(10_000);
    await elsewhere.waitFor(await appendEvent(events, 3, 'SpaceAdded'));
    const former = await liveOf(documents);
    await expect(rebuildIn(await database.open(), { projections: [fragile(() => true), trails()] })).rejects.toThrow(
      /cannot count.*The former read models stay in use/,
    );
    const position = await appendEvent(events, 1, 'SpaceAdded');
    expect(await elsewhere.waitFor(position, { projections: [counts] })).toBe(true);
    await expectToEqualTheLog(elsewhere, counts);
    expect(await liveOf(documents)).toBe(former);
    await eventually(async () => expect(Object.keys((await catalogueOf(documents)).generations)).toEqual([former]));
    await eventually(async () => expect([...(await documents.checkpoints()).keys()]).toEqual([former]));
    await rebuildIn(await database.open());
    expect(await liveOf(documents)).not.toBe(former);
  });

  it('drops what an interrupted rebuild has built', async () => {
    await start(documents);
    await elsewhere.readable(10_000);
    const former = await liveOf(documents);
    await (await openCatalogue(documents)).apply({ type: 'Begun', name: generationName(BOTH) });
    await eventually(async () => expect(Object.keys((await catalogueOf(documents)).generations)).toEqual([former]));
  });

  it('continues without an event that an operator skipped for a read model, also in a rebuild', async () => {
    const poisoned = fragile(() => true);
    await start(documents, [poisoned, trails()]);
    await elsewhere.readable(10_000);
    const position = await appendEvent(events, 3, 'SpaceAdded');
    const eventId = await eventually(async () => {
      const event = (await failuresIn(documents))[0]?.event?.id;
      if (event === undefined) throw new Error('It has not failed yet');
      return event;
    });
    const skip = { readModel: 'counts', version: 1, eventId, eventType: 'SpaceAdded', reason: 'test' };
    const metadata = {
      at: '2026-12-01T11:00:00.000Z',
      actor: { kind: 'operator', id: 'cli' },
      correlationId: 'c',
      schema: 1,
    };
    await events.append('readModel-counts', [{ type: 'ProjectionEventSkipped', data: skip, metadata }], {
      expectedRevision: 'none',
    });
    expect(await elsewhere.waitFor(position, { projections: [counts] })).toBe(true);
    expect(await elsewhere.collection(counts).count(ask())).toBe(0);
    await rebuildIn(await database.open(), { projections: [poisoned, trails()] });
    expect(await elsewhere.collection(counts).count(ask())).toBe(0);
    const [listed] = await listReadModels({ events, documents, projections: [poisoned, trails()] });
    expect(listed).toMatchObject({ name: 'counts', skipped: [{ eventId, by: 'operator cli' }] });
  });

  it('builds a new read model from an existing log, unreadable until it is complete', async () => {
    await appendMany(1_500, 300);
    const first = await start(documents, [counts]);
    await first.readModels.readable(10_000);
    await first.readModels.waitFor(await appendMany(1));
    await start(await database.open(), BOTH);
    const whole = (await expected(events, trails())).size;
    const seen = new Set<number | string>();
    await eventually(async () => {
      seen.add(
        await elsewhere
          .collection(trails())
          .count(ask())
          .catch((error: unknown) => String(error)),
      );
      expect(seen).toContain(whole);
    });
    expect([...seen].filter((size) => typeof size === 'number')).toEqual([whole]);
    await elsewhere.waitFor(await appendMany(10, 300));
    await expectToEqualTheLog(elsewhere, trails());
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('keeps both versions up to date while two releases run, even when a process is killed', async () => {
    const next = await database.open();
    const later = [trails(2, 'new:'), counts];
    const old = await start(documents);
    await old.readModels.readable(10_000);
    await elsewhere.readable(10_000);
    await old.readModels.waitFor(await appendMany(700));
    const reading = await read(next, later);
    const upgraded = await start(next, later);
    // While the new version is being built, and afterwards, the earlier release reads no stale data.
    for (let round = 0; round < 10; round++) {
      expect(await old.readModels.waitFor(await appendMany(20))).toBe(true);
      await expectToEqualTheLog(elsewhere, trails());
    }
    expect(await upgraded.readModels.readable(10_000)).toBe(true);
    await reading.readable(10_000);
    expect(await reading.waitFor(await appendMany(20))).toBe(true);
    await expectToEqualTheLog(reading, trails(2, 'new:'));

    // The earlier release stops: its version stands still, and catches up when the release comes back.
    await old.stop();
    const position = await appendMany(40);
    expect(await reading.waitFor(position)).toBe(true);
    await expectToEqualTheLog(reading, trails(2, 'new:'));
    await expectToEqualTheLog(reading, counts);
    await upgraded.stop();
    const rolledBack = await start(await database.open());
    const end = await appendMany(20);
    expect(await rolledBack.readModels.waitFor(end)).toBe(true);
    // Once processes of the other release know that they have to wait for its read models.
    await eventually(async () => expect((await rolledBack.readModels.status()).caughtUp).toBe(true));
    await expectToEqualTheLog(rolledBack.readModels, trails());
    await expectToEqualTheLog(rolledBack.readModels, counts);
  });

  it('drops a generation only after no process has wanted it for a long time', async () => {
    const later = [trails(2), counts];
    const first = await start(documents, BOTH);
    await first.readModels.readable(10_000);
    const before = await liveOf(documents);
    await first.stop();
    const keeping = await start(documents, later, { retireAfterMs: 3_600_000 });
    await keeping.readModels.readable(10_000);
    await keeping.stop();
    expect(await documents.names()).toContain(before);
    // `elsewhere` and the reader beside it belong to the first release: while they live, its generation is wanted.
    const [one, two] = [await beating(documents), await beating(documents)] as const;
    const [standby, active] = one.session < two.session ? [one, two] : [two, one];
    const projector = await start(documents, later, { retireAfterMs: 200, heartbeats: active });
    await eventually(() => expect(projector.isActive()).toBe(true));
    await start(await database.open(), later, { retireAfterMs: 200, heartbeats: standby });
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await documents.names()).toContain(before);
    for (const end of readers.splice(0)) await end();
    await eventually(async () => expect(await documents.names()).not.toContain(before));
    expect(entriesOf(await catalogueOf(documents))).toEqual([
      [await liveOf(documents, later), expect.objectContaining({ state: 'live' })],
    ]);
  });

  it('rebuilds on request from another process while events are appended, without affecting readers', async () => {
    await start(documents);
    await elsewhere.readable(10_000);
    await elsewhere.waitFor(await appendMany(800));
    const former = await liveOf(documents);

    const progress: number[] = [];
    let writing = true;
    const reader = (async () => {
      while (writing) {
        // A waiting request finds its event before, during and after the swap.
        const appended = (await expected(events, counts)).get('0')?.events ?? 0;
        const found = await elsewhere.collection(counts).get('0');
        expect(found?.events ?? 0).toBeLessThanOrEqual((await expected(events, counts)).get('0')?.events ?? 0);
        expect(appended).toBeGreaterThan(0);
        await delay(1);
      }
    })();
    const writer = (async () => {
      while (writing) {
        const position = await appendMany(1);
        expect(await elsewhere.waitFor(position)).toBe(true);
        await expectToEqualTheLog(elsewhere, counts);
      }
    })();
    await rebuildIn(await database.open(), { onProgress: ({ done }) => progress.push(done) });
    expect(await liveOf(documents)).not.toBe(former);
    await delay(20);
    writing = false;
    await Promise.all([reader, writer]);
    expect(await elsewhere.waitFor(await appendMany(1))).toBe(true);
    await expectToEqualTheLog(elsewhere, counts);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(logger.error).not.toHaveBeenCalled();
    await eventually(async () => expect(await documents.names()).not.toContain(former));
  });

  it('keeps the former collection up to date for a grace period after a swap, then drops it', async () => {
    // Long, so that a busy machine reads the former collection before its grace ends.
    const graceMs = 5_000;
    await start(documents, BOTH, { graceMs });
    await elsewhere.readable(10_000);
    await elsewhere.waitFor(await appendMany(50));
    const former = await liveOf(documents);
    const collection = await documents.open<Count>(collectionOf(counts, former));
    const startedAt = performance.now();
    await rebuildIn(await database.open());
    for (let round = 0; round < 5; round++) {
      expect(await elsewhere.waitFor(await appendMany(5))).toBe(true);
      const all = await Array.fromAsync(collection.find(ask()), ({ key, document }) => [key, document] as const);
      expect(new Map(all)).toEqual(await expected(events, counts));
    }
    await eventually(async () => expect(await documents.names()).not.toContain(former));
    expect(performance.now() - startedAt).toBeGreaterThan(graceMs);
    await eventually(async () => expect((await documents.checkpoints()).has(former)).toBe(false));
  });

  it('aborts a streamed response once its collection may have been dropped', async () => {
    await appendMany(4_500, 4_500);
    await start(documents);
    expect(await elsewhere.readable(20_000)).toBe(true);
    await elsewhere.waitFor(await appendMany(1, 4_500));
    const whole = await elsewhere.collection(trails()).count(ask());
    const pages = elsewhere.collection(trails()).pages(ask())[Symbol.asyncIterator]();
    const find = elsewhere.collection(trails()).find(ask())[Symbol.asyncIterator]();
    const first = await pages.next();
    await find.next();
    expect(first.value.rows.length).toBeLessThan(whole);
    const former = await liveOf(documents);
    await rebuildIn(await database.open());
    // The collection is still complete, so the answer continues.
    expect((await find.next()).done).toBe(false);
    await eventually(async () => expect(await documents.names()).not.toContain(former));
    const rest = async (of: AsyncIterator<unknown>) => {
      while ((await of.next()).done !== true);
    };
    await expect(rest(pages)).rejects.toThrow();
    await expect(rest(find)).rejects.toThrow();
    expect(await elsewhere.collection(trails()).count(ask())).toBe(whole);
  });

  it('drops a former generation again when a late write recreates it', async () => {
    await start(documents, BOTH, { graceMs: 50 });
    await elsewhere.readable(10_000);
    await elsewhere.waitFor(await appendMany(20));
    const former = await liveOf(documents);
    await rebuildIn(await database.open());
    const isThere = async () => (await documents.names()).includes(former);
    await eventually(async () => expect(await isThere()).toBe(false));
    // A write of a process that was suspended while another one took over.
    const other = await database.open();
    const late = await other.open<Row>(collectionOf(counts, former));
    const checkpoint = { position: '5', events: 5, failing: [], after: '4' };
    expect(await other.project(former, new Map(), checkpoint)).toBe(false);
    await late.project([{ key: '1', position: '5', document: {} }]);
    await eventually(async () => expect(await isThere()).toBe(false));
    expect([...(await documents.checkpoints()).keys()]).toEqual([await liveOf(documents)]);
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('starts an additional build only while the disk has room, and reports the missing space', async () => {
    await appendMany(50);
    const first = await start(documents, [trails()]);
    expect(await first.readModels.readable(10_000)).toBe(true);
    await first.stop();
    let free = 0;
    vi.spyOn(documents, 'room').mockImplementation(async () => ({ free, readModels: 1_000_000 }));
    const next = await start(documents);
    const missing = expect.objectContaining({ message: expect.stringMatching(/no room to build read models: 68 MB/) });
    await eventually(() =>
      expect(logger.error).toHaveBeenCalledWith(expect.objectContaining({ err: missing }), expect.anything()),
    );
    expect(await documents.checkpoints([await liveOf(documents)])).toEqual(new Map());
    free = 100_000_000;
    expect(await next.readModels.readable(10_000)).toBe(true);
    await expectToEqualTheLog(next.readModels, counts);
  });

  describe('builds', () => {
    const buildBatch = 100;

    it('builds a read model equal to the log, in steps, while events are appended, and rebuilds it', async () => {
      await appendMany(1_500, 60);
      await start(documents, BOTH, { buildBatch });
      for (let round = 0; round < 5; round++) await appendMany(50, 80);
      expect(await elsewhere.readable(20_000)).toBe(true);
      expect(await elsewhere.waitFor(await appendMany(20, 80))).toBe(true);
      await expectToEqualTheLog(elsewhere, trails());
      await expectToEqualTheLog(elsewhere, counts);

      const former = await liveOf(documents);
      const progress: number[] = [];
      const writer = (async () => {
        for (let round = 0; round < 20; round++) expect(await elsewhere.waitFor(await appendMany(5, 80))).toBe(true);
      })();
      await rebuildIn(await database.open(), { onProgress: ({ done }) => progress.push(done) });
      await writer;
      expect(await liveOf(documents)).not.toBe(former);
      expect(await elsewhere.waitFor(await appendMany(20, 80))).toBe(true);
      await expectToEqualTheLog(elsewhere, trails());
      await expectToEqualTheLog(elsewhere, counts);
      expect(progress).toEqual(progress.toSorted((a, b) => a - b));
      await eventually(async () => expect(await documents.names()).not.toContain(former));
      expect(logger.error).not.toHaveBeenCalled();
    });

    it('continues an interrupted build where it stopped, in any process', async () => {
      await appendMany(3_000, 100);
      let done = 0;
      for (let rounds = 0; rounds < 40; rounds++) {
        const process = await start(await database.open(), BOTH, { buildBatch: 20 });
        await delay(60);
        await process.stop();
        const now = Math.max(0, ...(await eventsIn(documents)));
        expect(now).toBeGreaterThanOrEqual(done);
        done = now;
        if ((await liveOf(documents)) !== '0.0') break;
      }
      await start(documents, BOTH, { buildBatch });
      expect(await elsewhere.readable(20_000)).toBe(true);
      expect(await elsewhere.waitFor(await appendMany(20, 80))).toBe(true);
      await expectToEqualTheLog(elsewhere, trails());
      await expectToEqualTheLog(elsewhere, counts);
      const total = (await Array.fromAsync(events.readAll())).length;
      await eventually(async () => expect(await eventsIn(documents)).toEqual([total]));
    });

    it('builds the other read models when one cannot handle an event, and that one once it can', async () => {
      let broken = true;
      await appendMany(800, 40);
      await start(documents, [fragile(() => broken), trails()], { buildBatch });
      await eventually(async () => expect((await failuresIn(documents))[0]?.message).toMatch(/cannot count/));
      await eventually(() => expectToEqualTheLog(elsewhere, trails()));
      await expect(elsewhere.collection(counts).get('0')).rejects.toThrow(Unavailable);
      broken = false;
      expect(await elsewhere.readable(20_000)).toBe(true);
      expect(await elsewhere.waitFor(await appendMany(20), { projections: BOTH })).toBe(true);
      await expectToEqualTheLog(elsewhere, trails());
      await expectToEqualTheLog(elsewhere, counts);
    });

    it('stays correct when two processes build the same read models', async () => {
      await appendMany(1_500, 60);
      const other = withOtherLeases(await database.open());
      await Promise.all([documents, other].map((store) => start(store, BOTH, { buildBatch })));
      expect(await elsewhere.readable(20_000)).toBe(true);
      expect(await elsewhere.waitFor(await appendMany(20, 60))).toBe(true);
      await expectToEqualTheLog(elsewhere, trails());
      await expectToEqualTheLog(elsewhere, counts);
    });
  });

  it('refuses to rebuild what no process keeps up to date', async () => {
    await expect(rebuildIn(documents, { beginWithinMs: 50 })).rejects.toThrow(/No running process/);
  });

  it('lets a running service take over from the command line', async () => {
    for (const end of readers.splice(0)) await end();
    const tool = await start(documents, BOTH, { kind: 'tool' });
    expect(await tool.readModels.readable(10_000)).toBe(true);
    const other = await database.open();
    const service = await beating(other);
    await start(other, BOTH, { heartbeats: service });
    await eventually(async () => {
      expect(await holder()).toBe(service.session);
      expect(await tool.readModels.waitFor(await appendMany(1))).toBe(true);
    });
  });
});
