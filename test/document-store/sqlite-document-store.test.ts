import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Collection, DocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite-document-store.ts';

type Numbered = { readonly n: number };
const records: Collection<Numbered> = { name: 'records', kind: 'record', indexes: [{ fields: ['n'] }] };

describe('SQLite document store', () => {
  let folder: string;
  let store: DocumentStore;
  let now = Date.parse('2026-12-01T11:00:00Z');

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'venue-sqlite-'));
    store = await openSqliteDocumentStore({ folder, clock: () => now });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const script = new URL('sqlite-process.ts', import.meta.url).pathname;
  const start = (work: string, argument: string) =>
    spawn(process.execPath, [script, folder, work, argument], { stdio: ['ignore', 'pipe', 'inherit'] });

  it('has every record that any process was told is stored, after all of them were killed', async () => {
    const documents = await store.open(records);
    const told: string[] = [];
    const writers = ['a', 'b'].map((prefix) => start('insert', prefix));
    for (const writer of writers) {
      let rest = '';
      writer.stdout.on('data', (chunk) => {
        const lines = `${rest}${chunk}`.split('\n');
        rest = lines.pop() ?? '';
        told.push(...lines);
      });
    }
    await vi.waitFor(() => expect(told.length).toBeGreaterThan(200), { timeout: 20_000 });
    const ended = Promise.all(writers.map((writer) => once(writer, 'close')));
    for (const writer of writers) writer.kill('SIGKILL');
    await ended;
    expect(new Set(told.map((key) => key[0]))).toEqual(new Set(['a', 'b']));
    const found = new Set((await Array.fromAsync(documents.find({}))).map(({ key }) => key));
    expect(told.filter((key) => !found.has(key))).toEqual([]);
    expect(await documents.insert('after', { n: 1 })).toBe(true);
  });

  it('loses no update of several processes that count at once, and sees theirs', async () => {
    const documents = await store.open(records);
    await documents.insert('counter', { n: 0 });
    const counters = [start('count', '100'), start('count', '100'), start('count', '100')];
    const ended = Promise.all(counters.map((counter) => once(counter, 'close')));
    let last = 0;
    // Read between their writes, so that the cache would have every chance to be stale.
    while (counters.some(({ exitCode }) => exitCode === null)) {
      const n = (await documents.get('counter'))?.document.n ?? 0;
      expect(n).toBeGreaterThanOrEqual(last);
      last = n;
      await delay(1);
    }
    await ended;
    expect((await documents.get('counter'))?.document.n).toBe(300);
  });

  it('lets other work run while it streams', async () => {
    const documents = await store.open<Numbered>({ ...records, name: 'views', kind: 'readModel' });
    const writes = Array.from({ length: 5_000 }, (_, n) => ({ key: String(n), position: '1', document: { n } }));
    await documents.project(writes);
    let turns = 0;
    let streaming = true;
    const others = (async () => {
      while (streaming) {
        await nextTurn();
        turns += 1;
      }
    })();
    expect(await Array.fromAsync(documents.find({}))).toHaveLength(5_000);
    streaming = false;
    await others;
    expect(turns).toBeGreaterThan(10);
  });

  it('rejects only the write that cannot be made, not those that share its transaction', async () => {
    const documents = await store.open<Numbered>({
      name: 'unique',
      kind: 'readModel',
      indexes: [{ fields: ['n'], unique: true }],
    });
    const write = (key: string, n: number) => documents.project([{ key, position: '1', document: { n } }]);
    const outcomes = await Promise.allSettled([write('a', 1), write('b', 1), write('c', 3)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await documents.get('a')).toBeDefined();
    expect(await documents.get('b')).toBeUndefined();
    expect(await documents.get('c')).toBeDefined();
    await expect(documents.insert('d', JSON.parse('{"n":4}'))).resolves.toBe(true);
  });

  it('sweeps out what has expired', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const swept = await openSqliteDocumentStore({ folder, clock: () => now });
    try {
      const documents = await swept.open<{ until: string }>({
        name: 'expiring',
        kind: 'record',
        indexes: [],
        ttl: 'until',
      });
      await documents.insert('1', { until: new Date(now + 1_000).toISOString() });
      await documents.insert('2', { until: new Date(now + 100_000).toISOString() });
      expect(await documents.get('1')).toBeDefined();
      now += 2_000;
      vi.advanceTimersByTime(60_000);
      await vi.waitFor(async () => expect(await documents.get('1')).toBeUndefined());
      expect(await documents.get('2')).toBeDefined();
    } finally {
      await swept.close();
      vi.useRealTimers();
    }
  });

  it('refuses names that are none', async () => {
    await expect(store.open({ ...records, name: 'a"; DROP TABLE records' })).rejects.toThrow('Not a collection name');
    await expect(
      store.open<Record<string, number>>({ name: 'x', kind: 'record', indexes: [{ fields: ["a')"] }] }),
    ).rejects.toThrow('Not a field name');
  });
});
