import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { DocumentStore, Documents } from '../../src/document-store/document-store.ts';
import { type Heartbeats, startHeartbeats } from '../../src/leases/heartbeats.ts';
import { type Lease, type Leases, openLeases } from '../../src/leases/lease.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { eventually } from '../eventually.ts';

const HOUR_MS = 3_600_000;
const COLLECTION = 'leases';

describe.each(documentEngines)('leases on %s', (_, createDatabase) => {
  let database: TestDatabase;
  const held: Lease[] = [];
  const hearts: Heartbeats<object>[] = [];

  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    for (const lease of held.splice(0)) await lease.release();
    for (const heart of hearts.splice(0)) await heart.stop();
    await database.remove();
  });

  type Options = Partial<Parameters<typeof openLeases>[0]>;
  /** Leases as another process sees them. */
  const leases = async (options: Options = {}): Promise<Leases> => {
    const documents = options.documents ?? (await database.open());
    const durationMs = options.durationMs ?? HOUR_MS;
    // Sends heartbeats as often as its shortest lease requires.
    const heartbeats = await startHeartbeats({ documents, status: {}, silenceMs: Math.min(durationMs, 3_000) });
    hearts.push(heartbeats);
    const opened = await openLeases({
      documents,
      heartbeats,
      durationMs,
      collection: COLLECTION,
      clock: Date.now,
      ...options,
    });
    const keep = (lease: Lease): Lease => {
      held.push(lease);
      return lease;
    };
    return {
      isHeld: opened.isHeld,
      acquire: async (...given) => keep(await opened.acquire(...given)),
      tryAcquire: async (name) => {
        const lease = await opened.tryAcquire(name);
        return lease && keep(lease);
      },
    };
  };

  /** The documents behind the leases. */
  const stored = async (): Promise<Documents<{ readonly [field: string]: unknown }>> =>
    (await database.open()).open({ name: COLLECTION, kind: 'readModel', indexes: [] });
  const versionOf = async (name: string) => (await (await stored()).get(name))?.version ?? 0;

  /** A store whose `replace` can be held up, as in a process that hangs, or lose its response, as on a broken connection. */
  async function faultyStore() {
    const real = await database.open();
    let gate: PromiseWithResolvers<void> | undefined;
    let responsesToLose = 0;
    const documents: DocumentStore = {
      ...real,
      open: async (collection) => {
        const opened = await real.open(collection);
        return {
          ...opened,
          async update(...args) {
            await gate?.promise;
            const updated = await opened.update(...args);
            if (responsesToLose-- > 0) throw new Error('The connection broke');
            return updated;
          },
        };
      },
    };
    return {
      documents,
      freeze() {
        gate = Promise.withResolvers();
      },
      thaw() {
        gate?.resolve();
        gate = undefined;
      },
      loseResponses(count: number) {
        responsesToLose = count;
      },
    };
  }

  test('is lost in a machine that was suspended for too long, whose monotonic clock stood still meanwhile', async () => {
    const lease = await (await leases({ durationMs: 3_000 })).acquire('job', { pollMs: 10 });
    expect(lease.isHeld()).toBe(true);
    const now = Date.now.bind(Date);
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 4_000);
    onTestFinished(() => clock.mockRestore());
    expect(lease.isHeld()).toBe(false);
    // It beats again, and does not believe to hold it again.
    await hearts.at(-1)?.beat();
    expect(hearts.at(-1)?.sinceLastBeat()).toBeLessThan(3_000);
    expect(lease.isHeld()).toBe(false);
  });

  test('exactly one of many competing processes acquires a lease; once released, another one can', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => leases()));
    const taken = await Promise.all(all.map(({ tryAcquire }) => tryAcquire('a')));
    const [lease, ...others] = taken.filter((each) => each !== undefined);
    expect(others).toEqual([]);
    expect(lease?.isHeld()).toBe(true);
    expect(await (await leases()).tryAcquire('a')).toBeUndefined();
    expect(await (await leases()).tryAcquire('b')).toBeDefined();
    await lease?.release();
    expect(lease?.isHeld()).toBe(false);
    expect(await (await leases()).tryAcquire('a')).toBeDefined();
  });

  test('a lease lasts as long as its holder sends heartbeats, and costs no writes', async () => {
    // Longer than a heartbeat takes on a busy server.
    const durationMs = 2_000;
    const lease = await (await leases({ durationMs })).tryAcquire('a');
    const other = await leases({ durationMs });
    const version = await versionOf('a');
    for (const end = performance.now() + 2 * durationMs; performance.now() < end; await delay(100))
      expect(await other.tryAcquire('a')).toBeUndefined();
    expect(lease?.isHeld()).toBe(true);
    expect(await versionOf('a')).toBe(version);
  });

  test('a lease that is no longer renewed passes to another process, and its former holder notices', async () => {
    const hanging = await faultyStore();
    const first = await (await leases({ ...hanging, durationMs: 100 })).tryAcquire('a');
    hanging.freeze();
    const other = await leases();
    const next = await eventually(async () => {
      const lease = await other.tryAcquire('a');
      if (lease === undefined) throw new Error('It is held');
      return lease;
    });
    expect(first?.isHeld()).toBe(false);
    expect(next.isHeld()).toBe(true);
    // The first holder resumes, tries to renew the lease it has lost, and releases it.
    hanging.thaw();
    await first?.release();
    expect(first?.isHeld()).toBe(false);
    expect(await (await leases()).tryAcquire('a')).toBeUndefined();
    expect(next.isHeld()).toBe(true);
  });

  test('a holder that is silent for too long loses the lease for good, and frees it at its next heartbeat', async () => {
    const hanging = await faultyStore();
    const lease = await (await leases({ ...hanging, durationMs: 200 })).tryAcquire('a');
    hanging.freeze();
    await eventually(() => expect(lease?.isHeld()).toBe(false));
    hanging.thaw();
    const other = await leases();
    await eventually(async () => expect(await other.tryAcquire('a')).toBeDefined());
    expect(lease?.isHeld()).toBe(false);
  });

  test('a heartbeat whose response was lost counts', async () => {
    const broken = await faultyStore();
    const lease = await (await leases({ ...broken, durationMs: 1_500 })).tryAcquire('a');
    broken.loseResponses(2);
    await delay(1_500);
    await eventually(() => expect(lease?.isHeld()).toBe(true));
    await lease?.release();
    expect(await (await leases()).tryAcquire('a')).toBeDefined();
  });

  test.each([
    ['ahead', HOUR_MS],
    ['behind', -HOUR_MS],
  ])('a process whose clock is an hour %s neither steals a lease nor keeps one', async (_side, shift) => {
    const clock = () => Date.now() + shift;
    await (await leases()).tryAcquire('a');
    const wrong = await leases({ clock, durationMs: 100 });
    expect(await wrong.tryAcquire('a')).toBeUndefined();

    const vanishing = await faultyStore();
    await (await leases({ ...vanishing, clock, durationMs: 100 })).tryAcquire('b');
    vanishing.freeze();
    const heir = await leases();
    await eventually(async () => expect(await heir.tryAcquire('b')).toBeDefined());
    vanishing.thaw();
  });

  test('the holder of a lease sets its duration, not the processes that wait for it', async () => {
    const vanishing = await faultyStore();
    await (await leases({ ...vanishing, durationMs: HOUR_MS })).tryAcquire('a');
    const impatient = await leases({ durationMs: 1 });
    for (let look = 0; look < 20; look++) {
      expect(await impatient.tryAcquire('a')).toBeUndefined();
      await delay(5);
    }
  });

  test('acquire resolves once the lease is released, and rejects when aborted', async () => {
    const lease = await (await leases()).tryAcquire('a');
    const other = await leases();
    const abort = new AbortController();
    const aborted = other.acquire('a', { pollMs: 10, signal: abort.signal });
    const waiting = other.acquire('a', { pollMs: 10 });
    const reason = new Error('no longer');
    abort.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    await lease?.release();
    expect((await waiting).isHeld()).toBe(true);
  });
});
