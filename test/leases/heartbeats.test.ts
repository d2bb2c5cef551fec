import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { type Heartbeats, startHeartbeats } from '../../src/leases/heartbeats.ts';
import { THIS_PROCESS } from '../../src/runtime/process-liveness.ts';
import { documentEngines, onlyEmbedded, type TestDatabase } from '../document-store/engines.ts';
import { eventually } from '../eventually.ts';

type Status = { readonly says: string };

describe.each(documentEngines)('heartbeats on %s', (_, createDatabase) => {
  let database: TestDatabase;
  const hearts: Heartbeats<Status>[] = [];

  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    for (const heart of hearts.splice(0)) await heart.stop();
    await database.remove();
  });

  /** Heartbeats of another process. */
  async function start(says: string, silenceMs = 300): Promise<Heartbeats<Status>> {
    const documents = await database.open();
    const heart = await startHeartbeats<Status>({ documents, status: { says }, silenceMs });
    hearts.push(heart);
    return heart;
  }
  const said = async (heart: Heartbeats<Status>) => (await heart.living()).map((each) => each.status.says).sort();
  /** The stored heartbeats, which a process without a clean end leaves behind. */
  const documents = async () =>
    (await database.open()).open<object>({ name: 'heartbeats', kind: 'readModel', indexes: [] });

  test('processes see each other and the announced statuses at once', async () => {
    const a = await start('a');
    const b = await start('b');
    expect(await said(a)).toEqual(['a', 'b']);
    b.announce({ says: 'b again' });
    await b.beat();
    expect(await said(a)).toEqual(['a', 'b again']);
    expect(await a.isSilent(b.session, 300)).toBe(false);
    await b.stop();
    expect(await said(a)).toEqual(['a']);
    expect(await a.isSilent(b.session, 3_600_000)).toBe(true);
  });

  test('a process counts as dead after a silence, or once it is known to have ended', async () => {
    const a = await start('a');
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'close');
    const left = await documents();
    await left.insert('killed', { ...THIS_PROCESS, pid: child.pid, startedAt: '1', status: { says: 'killed' } });
    await left.insert('elsewhere', { pidNamespace: 'another machine', pid: 1, status: { says: 'elsewhere' } });
    expect(await a.isSilent('killed', 3_600_000)).toBe(true);
    expect(await said(a)).toEqual(['a', 'elsewhere']);
    await eventually(async () => expect(await said(a)).toEqual(['a']));
    // A beat ends the silence at once, also for a process that has just seen it.
    await eventually(async () => expect(await a.isSilent('elsewhere', 300)).toBe(true));
    await left.update('elsewhere', (document) => document);
    expect(await a.isSilent('elsewhere', 300)).toBe(false);
  });

  test('a read that the store answers late does not count as silence of another process', async () => {
    const real = await database.open();
    let gate: PromiseWithResolvers<void> | undefined;
    const slow: DocumentStore = {
      ...real,
      async open(collection) {
        const opened = await real.open(collection);
        return {
          ...opened,
          async *find(query) {
            await gate?.promise;
            yield* opened.find(query);
          },
        };
      },
    };
    const a = await startHeartbeats<Status>({ documents: slow, status: { says: 'a' }, silenceMs: 60_000 });
    hearts.push(a);
    gate = Promise.withResolvers();
    const reading = a.living();
    await delay(300);
    const startedAt = performance.now();
    await (await documents()).insert('late', { pidNamespace: 'another machine', pid: 1, status: { says: 'late' } });
    gate.resolve();
    await reading;
    await a.living();
    expect(await a.isSilent('late', performance.now() - startedAt + 50)).toBe(false);
  });

  test('clocks are compared with those of live processes, once their beats are known to be new', async () => {
    const start = async (aheadMs: number) => {
      const documents = await database.open();
      const wall = () => Date.now() + aheadMs;
      const heart = await startHeartbeats<Status>({ documents, status: { says: '' }, silenceMs: 300, wall });
      hearts.push(heart);
      return heart;
    };
    const hours = (leads: readonly (number | undefined)[]) => leads.map((lead) => lead && Math.round(lead / 3_600_000));
    const pid = { pidNamespace: 'another machine', pid: 1 };
    await (await documents()).insert('old', { ...pid, status: { says: '' }, at: 0 });
    const a = await start(0);
    expect(a.clockLeads()).toEqual([undefined]);
    await eventually(() => expect(a.clockLeads()).toEqual([]));
    const b = await start(-24 * 3_600_000);
    await a.beat();
    expect(hours(a.clockLeads())).toEqual([24]);
    await a.beat();
    await eventually(() => expect(hours(b.clockLeads())).toEqual([-24]));
  });

  test('a process learns how long others may have considered it dead, before it can seem alive to itself', async () => {
    const real = await database.open();
    let isReadable = true;
    const unreadable: DocumentStore = {
      ...real,
      async open(collection) {
        const opened = await real.open(collection);
        return {
          ...opened,
          find(query) {
            if (!isReadable) throw new Error('The heartbeats cannot be read');
            return opened.find(query);
          },
        };
      },
    };
    const a = await startHeartbeats<Status>({ documents: unreadable, status: { says: 'a' }, silenceMs: 300 });
    hearts.push(a);
    const silences: number[] = [];
    a.onBeat((silentMs) => silences.push(silentMs));
    isReadable = false;
    const until = performance.now() + 700;
    while (performance.now() < until);
    await eventually(() => expect(Math.max(...silences)).toBeGreaterThanOrEqual(700));
    // Another process has already deleted its heartbeat.
    isReadable = true;
    silences.length = 0;
    await (await documents()).delete(a.session);
    await eventually(() => expect(Math.max(...silences)).toBe(Number.POSITIVE_INFINITY));
    expect(await said(a)).toEqual(['a']);
  });
});

test.each(onlyEmbedded)('a process on %s that was suspended does not consider the others dead', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-hearts-'));
  const other = spawn(process.execPath, [
    new URL('../projector/projector-process.ts', import.meta.url).pathname,
    folder,
  ]);
  onTestFinished(async () => {
    other.kill('SIGKILL');
    if (other.exitCode === null && other.signalCode === null) await once(other, 'exit');
    await rm(folder, { recursive: true });
  });
  const documents = await openSqliteDocumentStore({ folder });
  const heart = await startHeartbeats<Status>({ documents, status: { says: 'here' }, silenceMs: 1_000 });
  await eventually(async () => expect(await heart.living()).toHaveLength(2));
  for (let round = 0; round < 3; round++) {
    // Blocks this process while the other one sends heartbeats.
    const until = performance.now() + 1_500;
    while (performance.now() < until);
    expect(await heart.living()).toHaveLength(2);
  }
  await heart.stop();
  await documents.close();
});
