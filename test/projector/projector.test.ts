import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AnyProjection, Projection } from '../../projections/projection.ts';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { openProjector, type Projector } from '../../src/projector/projector.ts';
import { rebuild } from '../../src/projector/rebuild.ts';
import { openProjectorState } from '../../src/read-models/projector-state.ts';
import { type LiveReadModels, openReadModels, type ReadModels } from '../../src/read-models/read-models.ts';
import { ask } from '../document-store/ask.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { eventually } from '../eventually.ts';
import { appendEvent, appendEvents, counts, expected, trails } from './space-trails.ts';

let folder: string;
let events: EventStore;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-projector-'));
  events = await openSqliteEventStore({ path: join(folder, 'events.sqlite') });
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await events.close();
  await rm(folder, { recursive: true });
});

const logger = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
let now = 0;
const deps = (documents: DocumentStore, projections: readonly AnyProjection[] = [trails(), counts]) => ({
  events,
  documents,
  projections,
  clock: () => now,
  logger,
  leaseMs: 600,
  tickMs: 20,
});

async function start(documents: DocumentStore, projections?: readonly AnyProjection[]): Promise<Projector> {
  const projector = await openProjector(deps(documents, projections));
  projector.start();
  ends.push(() => projector.stop());
  return projector;
}

const appendMany = (count: number, spaces = 10) => appendEvents(events, count, spaces);

async function expectToEqualTheLog<D extends object>(readModels: ReadModels, projection: Projection<D>) {
  const found = await Array.fromAsync(readModels.collection(projection).find(ask()));
  expect(new Map(found.map(({ key, document }) => [key, document]))).toEqual(await expected(events, projection));
}

/** A store with leases of its own, so that every projector believes it holds the lease. */
const withOwnLease = (store: DocumentStore, own: string): DocumentStore => ({
  ...store,
  open: (collection) =>
    store.open(collection.name.endsWith('leases') ? { ...collection, name: `leases-${own}` } : collection),
});

describe.each(documentEngines)('projector on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let documents: DocumentStore;
  let readModels: LiveReadModels;
  /** As another process sees them. */
  let elsewhere: LiveReadModels;

  beforeEach(async () => {
    database = await createDatabase();
    ends.push(() => database.remove());
    documents = await database.open();
    readModels = await openReadModels({ documents, events });
    elsewhere = await openReadModels({ documents: await database.open(), events });
    logger.error.mockClear();
    logger.warn.mockClear();
  });

  it('folds the log, and readers in every process can wait for it', async () => {
    const { readModels } = await start(documents);
    for (let round = 0; round < 5; round++) {
      const position = await appendMany(20);
      expect(await Promise.all([readModels.waitFor(position), elsewhere.waitFor(position)])).toEqual([true, true]);
      for (const reader of [readModels, elsewhere]) {
        await expectToEqualTheLog(reader, trails());
        await expectToEqualTheLog(reader, counts);
      }
    }
    expect(await elsewhere.status()).toEqual({ lag: 0 });
    expect(logger.error).not.toHaveBeenCalled();
  });

  it('returns false when a wait times out, and counts the lag', async () => {
    const position = await appendMany(5);
    expect(await readModels.waitFor(position, 30)).toBe(false);
    expect((await readModels.status()).lag).toBe(5);
    expect((await readModels.status(3)).lag).toBe(3);
    expect(await readModels.collection(trails()).get('0')).toBeUndefined();
    expect(await Array.fromAsync(readModels.collection(trails()).find(ask()))).toEqual([]);
  });

  it('projects in one process at a time, and another takes over immediately after a clean stop', async () => {
    const first = await start(documents);
    await elsewhere.waitFor(await appendMany(10));
    await start(await database.open());
    await first.stop();
    const position = await appendMany(10);
    expect(await elsewhere.waitFor(position)).toBe(true);
    await expectToEqualTheLog(elsewhere, trails());
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('does no harm when two processes believe they hold the lease', async () => {
    const other = await database.open();
    await start(withOwnLease(documents, 'a'));
    await start(withOwnLease(other, 'b'));
    let position = await appendMany(200);
    // One may have folded them all before the other begins: then they race for the next ones.
    await eventually(async () => {
      position = await appendMany(20);
      expect(logger.warn).toHaveBeenCalledWith(
        { reason: expect.stringContaining('Another projector') },
        'Another process is projecting now',
      );
    });
    expect(await elsewhere.waitFor(position, 20_000)).toBe(true);
    await expectToEqualTheLog(elsewhere, trails());
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('does not rely on its cache after another process has projected', async () => {
    let broken = false;
    const fragile: AnyProjection = {
      ...trails(),
      evolve(document, event) {
        if (broken) throw new Error('cannot');
        return trails().evolve(document === undefined ? undefined : { spaceId: 0, trail: [], ...document }, event);
      },
    };
    await start(withOwnLease(documents, 'a'), [fragile]);
    await elsewhere.waitFor(await appendEvent(events, 1, 'SpaceAdded'));
    broken = true;
    const position = await appendEvent(events, 1, 'SpaceChanged');
    await eventually(() => expect(logger.error).toHaveBeenCalled());
    const other = await start(withOwnLease(await database.open(), 'b'), [trails()]);
    expect(await elsewhere.waitFor(position, 15_000)).toBe(true);
    await other.stop();
    broken = false;
    expect(await elsewhere.waitFor(await appendEvent(events, 1, 'SpaceChanged'), 15_000)).toBe(true);
    await expectToEqualTheLog(elsewhere, trails());
  });

  it('reports a projection that throws, keeps retrying, and recovers', async () => {
    let broken = true;
    const fragile: AnyProjection = {
      ...counts,
      evolve(document, event) {
        if (broken && event.data !== undefined && event.stream === 'space-3') throw new Error('cannot count');
        return counts.evolve(document === undefined ? undefined : { communityId: 0, events: 0, ...document }, event);
      },
    };
    await start(documents, [fragile, trails()]);
    await readModels.waitFor(await appendEvent(events, 1, 'SpaceAdded'));
    const position = await appendEvent(events, 3, 'SpaceAdded');
    await eventually(async () => expect((await elsewhere.status()).failure?.attempts).toBeGreaterThan(1));
    expect((await elsewhere.status()).failure).toMatchObject({
      doing: 'project',
      message: expect.stringMatching(/Projection counts failed on SpaceAdded .*cannot count/),
    });
    expect((await elsewhere.status()).lag).toBe(1);
    expect(logger.error).toHaveBeenCalled();
    broken = false;
    expect(await elsewhere.waitFor(position)).toBe(true);
    await eventually(async () => expect(await elsewhere.status()).toEqual({ lag: 0 }));
    await expectToEqualTheLog(elsewhere, trails());
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('builds a new read model from an existing log, invisible until it is complete', async () => {
    await appendMany(1_500, 300);
    await start(documents, [counts]);
    await elsewhere.waitFor(await appendMany(1));
    const seen = new Set<number>();
    await start(await database.open(), [counts, trails()]);
    const closing = ends.splice(-2, 1)[0];
    await closing?.();
    const whole = (await expected(events, trails())).size;
    await eventually(async () => {
      seen.add(await elsewhere.collection(trails()).count(ask()));
      expect(seen).toContain(whole);
    });
    expect([...seen].filter((size) => size !== 0)).toEqual([whole]);
    await elsewhere.waitFor(await appendMany(10, 300));
    await expectToEqualTheLog(elsewhere, trails());
    await expectToEqualTheLog(elsewhere, counts);
  });

  it('keeps the old documents while a new version is built, then swaps and drops them', async () => {
    const first = await start(documents);
    await elsewhere.waitFor(await appendMany(700));
    const old = (await openProjectorState(documents)).pointers;
    const before = (await old.get('trails'))?.document.collection ?? '';
    await first.stop();

    now += 1;
    await start(documents, [trails(2, 'new:'), counts]);
    const key = [...(await expected(events, trails())).keys()][0] ?? '';
    let marks: string[] = [];
    await eventually(async () => {
      const document = await elsewhere.collection(trails()).get(key);
      marks = [...marks, document?.document.trail[0]?.startsWith('new:') === true ? 'new' : document ? 'old' : 'none'];
      expect(marks.at(-1)).toBe('new');
    });
    expect(new Set(marks)).toEqual(new Set(marks.includes('old') ? ['old', 'new'] : ['new']));
    await expectToEqualTheLog(elsewhere, trails(2, 'new:'));
    expect(await documents.names()).toContain(before);
    now += 60_000;
    await eventually(async () => expect(await documents.names()).not.toContain(before));
  });

  it('rebuilds on request from another process while events are appended, without readers noticing', async () => {
    await start(documents);
    await elsewhere.waitFor(await appendMany(800));
    const state = await openProjectorState(documents);
    const generation = async () => (await state.pointers.get('counts'))?.document.generation;
    expect(await generation()).toBe(1);

    const progress: number[] = [];
    let writing = true;
    let last = 0;
    const reader = (async () => {
      while (writing) {
        const found = await elsewhere.collection(counts).get('0');
        expect(found?.document.events).toBeGreaterThanOrEqual(last);
        last = found?.document.events ?? 0;
        await delay(1);
      }
    })();
    const writer = (async () => {
      while (writing) await readModels.waitFor(await appendMany(1));
    })();
    await rebuild({
      ...deps(await database.open()),
      names: ['counts'],
      onProgress: ({ done }) => progress.push(done),
    });
    expect(await generation()).toBe(2);
    await delay(20);
    writing = false;
    await Promise.all([reader, writer]);
    expect(await elsewhere.waitFor(await appendMany(1))).toBe(true);
    await expectToEqualTheLog(elsewhere, counts);
    expect(progress).toEqual(progress.toSorted((a, b) => a - b));
    expect(logger.error).not.toHaveBeenCalled();
  });

  it('rebuilds by itself when no process projects', async () => {
    const projector = await start(documents);
    await elsewhere.waitFor(await appendMany(50));
    await projector.stop();
    await rebuild(deps(await database.open()));
    await expectToEqualTheLog(elsewhere, trails());
    expect((await (await openProjectorState(documents)).pointers.get('trails'))?.document.generation).toBe(2);
    await expect(rebuild({ ...deps(documents), names: ['nonsense'] })).rejects.toThrow(/nonsense.*trails, counts/);
  });
});

describe('projector processes on SQLite', () => {
  const processes: ChildProcess[] = [];
  let documents: DocumentStore;
  let readModels: LiveReadModels;

  beforeEach(async () => {
    documents = await openSqliteDocumentStore({ folder });
    ends.push(() => documents.close());
    readModels = await openReadModels({ documents, events });
  });
  afterEach(async () => {
    for (const child of processes.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  const spawnProjector = async () => {
    const script = new URL('projector-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [script, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    processes.push(child);
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    return { child, projects: () => eventually(() => expect(stdout).toContain('projecting')) };
  };

  /** Stops a process between two writes: inside one it would hold the lock on the file (docs/decisions/embedded-log.md). */
  async function suspend(child: ChildProcess): Promise<void> {
    const probes = await documents.open<object>({ name: 'probes', kind: 'readModel', indexes: [] });
    for (let key = 0; ; key += 1) {
      child.kill('SIGSTOP');
      const written = probes.insert(String(key), {});
      if (await Promise.race([written, delay(500, false)])) return;
      child.kill('SIGCONT');
      await written;
    }
  }

  it('survives kill -9 under load: another process resumes and the read models equal the log', async () => {
    let writing = true;
    const load = (async () => {
      let position = '';
      while (writing) position = await appendMany(20);
      return position;
    })();
    let { child, projects } = await spawnProjector();
    for (let round = 0; round < 3; round++) {
      await projects();
      await delay(100 + round * 70);
      child.kill('SIGKILL');
      await once(child, 'exit');
      ({ child, projects } = await spawnProjector());
    }
    writing = false;
    expect(await readModels.waitFor(await load, 10_000)).toBe(true);
    await expectToEqualTheLog(readModels, trails());
    await expectToEqualTheLog(readModels, counts);
  });

  it('is replaced when it hangs, and does no harm when it wakes up', async () => {
    const hanging = await spawnProjector();
    await hanging.projects();
    await readModels.waitFor(await appendMany(50));
    await suspend(hanging.child);
    const successor = await spawnProjector();
    await successor.projects();
    expect(await readModels.waitFor(await appendMany(50), 10_000)).toBe(true);
    hanging.child.kill('SIGCONT');
    expect(await readModels.waitFor(await appendMany(200), 10_000)).toBe(true);
    await delay(200);
    expect(await readModels.waitFor(await appendMany(20), 10_000)).toBe(true);
    await expectToEqualTheLog(readModels, trails());
    await expectToEqualTheLog(readModels, counts);
  });
});
