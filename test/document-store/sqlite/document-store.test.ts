import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Collection, Documents, OperatedDocumentStore } from '../../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../../src/document-store/sqlite/document-store.ts';
import { requestArrived } from '../../../src/event-loop/loop-turn.ts';
import { eventually } from '../../eventually.ts';
import { ask } from '../ask.ts';
import { replace } from '../replace.ts';

type Numbered = { readonly n: number };
const records: Collection<Numbered> = { name: 'records', kind: 'record', indexes: [{ fields: ['n'] }] };

/** The files that this process has open, on Linux. */
const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      return [];
    }
  });

const views: Collection<Numbered> = {
  name: 'cachedViews',
  kind: 'readModel',
  generation: 'abcdef01.1',
  indexes: [{ fields: ['n'] }],
};
let projected = 0;
const project = (documents: Documents<Numbered>, key: string, n: number) => {
  projected += 1;
  return documents.project([{ key, position: String(projected).padStart(16, '0'), document: { n } }]);
};

describe('SQLite document store', () => {
  let folder: string;
  let store: OperatedDocumentStore;
  let now = Date.parse('2026-12-01T11:00:00Z');

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'venue-sqlite-'));
    store = await openSqliteDocumentStore({ folder, clock: () => now });
  });
  afterEach(async () => {
    await Promise.all([store, ...beside.splice(0)].map((each) => each.close()));
    await rm(folder, { recursive: true });
  });

  const beside: OperatedDocumentStore[] = [];
  const script = new URL('sqlite-process.ts', import.meta.url).pathname;
  const start = (work: string, argument: string) =>
    spawn(process.execPath, [script, folder, work, argument], { stdio: ['ignore', 'pipe', 'inherit'] });

  /** The same store, as another process has it open. */
  async function openBeside(): Promise<Documents<Numbered>> {
    const other = await openSqliteDocumentStore({ folder });
    beside.push(other);
    return other.open(views);
  }

  it('shows what another process committed during a long turn of the event loop', async () => {
    const documents = await store.open(records);
    await documents.insert('counter', { n: 1 });
    const before = documents.get('counter');
    // Blocks this process until the other one has ended.
    execFileSync(process.execPath, [script, folder, 'count', '1']);
    const after = documents.get('counter');
    expect([(await before)?.document.n, (await after)?.document.n]).toEqual([1, 2]);
  });

  it('caches projected documents until this process changes them or another one commits', async () => {
    const documents = await store.open(views);
    for (const n of [1, 2]) await project(documents, `view-${n}`, n);
    const before = [await documents.get('view-1'), await documents.get('view-2')];
    await project(documents, 'view-1', 7);
    const after = [await documents.get('view-1'), await documents.get('view-2')];
    expect(after[0]).toMatchObject({ document: { n: 7 } });
    expect(after[1]).toBe(before[1]);
    execFileSync(process.execPath, [script, folder, 'project', 'view-2']);
    await nextTurn();
    expect(await documents.get('view-2')).toMatchObject({ document: { n: 99 } });
    expect(await documents.get('view-1')).not.toBe(after[0]);
  });

  it.each([
    ['a request arrives', async () => requestArrived()],
    ['a checkpoint is read', async (store: OperatedDocumentStore) => store.checkpoints(['abcdef01.1'])],
  ] as const)(
    'shows what another process committed once %s, even within one turn of the event loop',
    async (_, act) => {
      const documents = await store.open(views);
      await project(documents, 'view-1', 1);
      await nextTurn();
      // The cache is valid until the next turn of the event loop.
      await documents.get('view-1');
      execFileSync(process.execPath, [script, folder, 'project', 'view-1']);
      await act(store);
      expect(await documents.get('view-1')).toMatchObject({ document: { n: 99 } });
    },
  );

  it('never shows a stale document', { timeout: 60_000 }, async () => {
    const documents = await store.open(views);
    const writers = [documents, await openBeside(), await openBeside()] as const;
    const step = fc.record({ by: fc.constantFrom(...writers), key: fc.constantFrom('a', 'b', 'c') });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const expected = new Map<string, number>();
        for (const { by, key } of steps) {
          expected.set(key, ++projected);
          await project(by, key, projected);
          await delay(1);
          const shown = await documents.getMany([...expected.keys()]);
          expect(new Map(shown.map(({ key, document }) => [key, document.n]))).toEqual(expected);
          const listed = await Array.fromAsync(
            documents.find(ask({ sort: [{ field: 'n' }] })),
            ({ document }) => document.n,
          );
          expect(listed).toEqual(expect.arrayContaining([...expected.values()]));
        }
      }),
      { numRuns: 25 },
    );
  });

  it('keeps every acknowledged record after all writing processes are killed', async () => {
    const documents = await store.open(records);
    const acknowledged: string[] = [];
    const writers = ['a', 'b'].map((prefix) => start('insert', prefix));
    for (const writer of writers) {
      let rest = '';
      writer.stdout.on('data', (chunk) => {
        const lines = `${rest}${chunk}`.split('\n');
        rest = lines.pop() ?? '';
        acknowledged.push(...lines);
      });
    }
    const countOf = (prefix: string) => acknowledged.filter((key) => key.startsWith(prefix)).length;
    await eventually(() => expect(Math.min(countOf('a'), countOf('b'))).toBeGreaterThan(100));
    const ended = Promise.all(writers.map((writer) => once(writer, 'close')));
    for (const writer of writers) writer.kill('SIGKILL');
    await ended;
    const found = new Set((await Array.fromAsync(documents.find(ask()))).map(({ key }) => key));
    expect(acknowledged.filter((key) => !found.has(key))).toEqual([]);
    expect(await documents.insert('after', { n: 1 })).toBe(true);
  });

  it('loses no update when several processes increment concurrently, and sees every update', async () => {
    const documents = await store.open(records);
    await documents.insert('counter', { n: 0 });
    const counters = [start('count', '100'), start('count', '100'), start('count', '100')];
    const ended = Promise.all(counters.map((counter) => once(counter, 'close')));
    let last = 0;
    // Reads between their writes, to give the cache every chance to be stale.
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
    expect(await Array.fromAsync(documents.find(ask()))).toHaveLength(5_000);
    streaming = false;
    await others;
    expect(turns).toBeGreaterThan(10);
  });

  it('frees the space of a dropped generation, even while other processes have it open', async () => {
    const generation = 'abcdef01.1';
    const other = await openSqliteDocumentStore({ folder });
    const written = Array.from({ length: 2_000 }, (_, n) => ({
      key: String(n),
      position: '1',
      document: { n, filling: 'x'.repeat(500) },
    }));
    await (await store.open(views)).project(written);
    expect(await (await other.open(views)).count(ask())).toBe(2_000);
    expect((await store.room())?.readModels ?? 0).toBeGreaterThan(1_000_000);
    await store.drop(generation);
    expect((await store.room())?.readModels).toBe(0);
    expect(await readdir(join(folder, 'read-models'))).toEqual([]);
    // A file that a process has open takes up space until it is closed.
    await eventually(() => expect(openFiles().filter((path) => path.includes(generation))).toEqual([]));
    await other.close();
  });

  it('does not mistake the generations of another store for its own', async () => {
    await (await store.open(views)).project([{ key: '1', position: '3', document: { n: 1 } }]);
    await store.close();
    for (const file of await readdir(folder)) if (file.startsWith('read-models.sqlite')) await rm(join(folder, file));
    store = await openSqliteDocumentStore({ folder });
    expect(await store.names()).not.toContain(views.generation);
    expect(await (await store.open(views)).get('1')).toBeUndefined();
  });

  it('keeps a frequently used result cached, even when many others are used once', async () => {
    const documents = await store.open(views);
    await project(documents, 'a', 0);
    const read = (n: number) => Array.fromAsync(documents.find(ask({ where: { n } })), ({ key }) => key);
    expect(await read(0)).toEqual(['a']);
    const reads = vi.spyOn(StatementSync.prototype, 'all');
    try {
      for (let n = 1; n <= 1_500; n += 1) {
        await read(n);
        expect(await read(0)).toEqual(['a']);
      }
      expect(reads).toHaveBeenCalledTimes(1_500);
      await project(documents, 'b', 0);
      expect(await read(0)).toEqual(['a', 'b']);
    } finally {
      reads.mockRestore();
    }
  });

  it('rejects only the failed write, not the others in its transaction', async () => {
    const documents = await store.open<Numbered>({
      name: 'unique',
      kind: 'record',
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

  it('leaves nothing of a record in the files after it is removed or replaced', async () => {
    type Person = { readonly email: string };
    const people = await store.open<Person>({ name: 'people', kind: 'record', indexes: [{ fields: ['email'] }] });
    // Some are longer than a page.
    const person = (n: number) => ({ email: `ada-${n}@lovelace.example${'!'.repeat(n % 7 === 0 ? 9_000 : n)}` });
    for (let n = 0; n < 300; n += 1) await people.insert(`p${n}`, person(n));
    const inFiles = () =>
      readdirSync(folder)
        .filter((name) => name.startsWith('records') && statSync(join(folder, name)).isFile())
        .map((name) => readFileSync(join(folder, name), 'latin1'))
        .join('')
        .includes('lovelace');
    for (let n = 0; n < 300; n += 1)
      await (n % 2 === 0 ? people.delete(`p${n}`) : replace(people, `p${n}`, { email: 'erased' }, 1));
    expect(await people.count(ask())).toBe(150);
    // The last writes are in the WAL, with their previous content; it is deleted once the last process closes the file.
    await store.close();
    expect(inFiles()).toBe(false);
    store = await openSqliteDocumentStore({ folder, clock: () => now });
  });

  it('erases a record from the files on request, even while other processes have them open', async () => {
    const key: Collection<{ readonly key: string }> = { name: 'keys', kind: 'record', indexes: [] };
    const keys = await store.open(key);
    const other = await openSqliteDocumentStore({ folder });
    try {
      await keys.insert('a', { key: 'Zwetschgenkuchen' });
      const seen = await other.open(key);
      expect(await seen.get('a')).toMatchObject({ document: { key: 'Zwetschgenkuchen' } });
      await replace(seen, 'a', { key: 'destroyed' }, 1);
      expect(await other.purge()).toBe(true);
      const held = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((each) => each.isFile())
        .filter(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1').includes('Zwetschgen'));
      expect(held).toEqual([]);
      // No reader has lost data, and none sees the erased record.
      for (const documents of [keys, seen]) {
        expect(await documents.get('a')).toMatchObject({ document: { key: 'destroyed' } });
        expect(await documents.insert(`b${documents === keys}`, { key: 'later' })).toBe(true);
      }
      expect(await keys.count(ask())).toBe(3);
    } finally {
      await other.close();
    }
  });

  it('removes expired documents', async () => {
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
      await eventually(async () => expect(await documents.get('1')).toBeUndefined());
      expect(await documents.get('2')).toBeDefined();
    } finally {
      await swept.close();
      vi.useRealTimers();
    }
  });

  it('keeps the columns of a document correct when any part of it changes', async () => {
    type Mixed = { readonly a: number; readonly b?: string; readonly c?: boolean; readonly rest?: number };
    const indexes = [{ fields: ['a', 'b'] }, { fields: ['c'] }] as const;
    const mixed = await store.open<Mixed>({ name: 'mixed', kind: 'readModel', indexes });
    const document = fc.record(
      { a: fc.nat(3), b: fc.constantFrom('x', 'y', 'ü'), c: fc.boolean(), rest: fc.nat(3) },
      { requiredKeys: ['a'] },
    );
    let position = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(document, { minLength: 1, maxLength: 6 }), async (states) => {
        for (const [step, state] of states.entries()) {
          position += 1;
          await mixed.project([{ key: 'p', position: String(position).padStart(9, '0'), document: state }]);
          const record = await mixed.get('r');
          if (record === undefined) await mixed.insert('r', state);
          else if (step % 3 === 2) await mixed.delete('r');
          else await replace(mixed, 'r', state, record.version);
        }
        const all = await Array.fromAsync(mixed.find(ask()));
        for (const { document } of all) {
          for (const [field, value] of Object.entries(document)) {
            const found = await Array.fromAsync(
              mixed.find(ask<Mixed>({ where: { [field]: value } })),
              ({ key }) => key,
            );
            const expected = all.filter(({ document }) =>
              Object.entries(document).some(([f, v]) => f === field && v === value),
            );
            expect(found.sort()).toEqual(expected.map(({ key }) => key).sort());
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it('refuses invalid names', async () => {
    await expect(store.open({ ...records, name: 'a"; DROP TABLE records' })).rejects.toThrow('Invalid collection name');
    await expect(
      store.open<Record<string, number>>({ name: 'x', kind: 'record', indexes: [{ fields: ["a')"] }] }),
    ).rejects.toThrow('Invalid field name');
  });
});
