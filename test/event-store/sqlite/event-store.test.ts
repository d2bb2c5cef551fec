import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LOG_START, type OperatedEventStore } from '../../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../../src/event-store/sqlite/event-store.ts';
import { eventStoreContract } from '../../contract/event-store.ts';
import { eventually } from '../../eventually.ts';

eventStoreContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'event-log-'));
  return {
    open: () => openSqliteEventStore({ path: join(folder, 'events.db') }),
    stop: () => rm(folder, { recursive: true }),
  };
});

describe('SQLite event log', () => {
  let folder: string;
  let path: string;
  const stores: OperatedEventStore[] = [];
  const children: ChildProcess[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'event-log-'));
    path = join(folder, 'events.db');
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    for (const store of stores.splice(0)) await store.close();
    await rm(folder, { recursive: true });
  });

  const open = async (): Promise<OperatedEventStore> => {
    const store = await openSqliteEventStore({ path });
    stores.push(store);
    return store;
  };
  /** Starts a separate process; `lines` collects its output. */
  const start = (work: string, name: string, shell?: string): { child: ChildProcess; lines: string[] } => {
    const program = new URL('log-process.ts', import.meta.url).pathname;
    const command = [process.execPath, program, work, path, name];
    const child =
      shell === undefined
        ? spawn(process.execPath, command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
        : spawn('/bin/sh', ['-c', `${shell}; exec "$@"`, 'sh', ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const lines: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    return { child, lines };
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
  const made = (n: number) => ({ type: 'Made', data: { n }, metadata: {} });
  /** `stream revision` of every stored event. */
  const stored = async (store: OperatedEventStore): Promise<Set<string>> =>
    new Set((await Array.fromAsync(store.readAll())).map(({ stream, revision }) => `${stream} ${revision}`));

  test('concurrent processes lose no acknowledged append, even when one is killed', async () => {
    const store = await open();
    const [first, second] = [start('append', 'first'), start('append', 'second')];
    let own = 0;
    const stop = new AbortController();
    const writing = (async () => {
      while (!stop.signal.aborted) {
        await store.append('own', [made(own)], { expectedRevision: own === 0 ? 'none' : own - 1 });
        own += 1;
      }
    })();
    await eventually(() => expect(Math.min(first.lines.length, second.lines.length, own)).toBeGreaterThan(200));
    await kill(first.child);
    const acknowledged = [...first.lines, ...second.lines];
    const before = second.lines.length;
    await eventually(() => expect(second.lines.length).toBeGreaterThan(before + 100));
    stop.abort();
    await writing;
    await kill(second.child);
    const found = await stored(store);
    expect([...acknowledged, ...second.lines].filter((line) => !found.has(line))).toEqual([]);
    expect(await Array.fromAsync(store.readStream('own'))).toHaveLength(own);
  });

  test('a waiting subscription gets an event of another process that one which has just begun read first', async () => {
    const [store, other] = [await open(), await open()];
    await other.append('thing', [made(0)], { expectedRevision: 'none' });
    const waiting = store.subscribe({})[Symbol.asyncIterator]();
    await waiting.next();
    const next = waiting.next();
    await other.append('thing', [made(1)], { expectedRevision: 0 });
    for await (const { events } of store.subscribe({})) {
      expect(events).toHaveLength(2);
      break;
    }
    expect((await next).value?.events).toMatchObject([{ data: { n: 1 } }]);
  });

  test('a log whose only process is killed while writing reopens with every acknowledged event', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { child, lines } = start('append', `round${round}`);
      await eventually(() => expect(lines.length).toBeGreaterThan(300));
      await kill(child);
      const store = await openSqliteEventStore({ path });
      const found = await stored(store);
      expect(lines.filter((line) => !found.has(line))).toEqual([]);
      await store.append(`after${round}`, [made(0)], { expectedRevision: 'none' });
      await store.close();
    }
  });

  test('events of a killed consumer are redelivered to another', async () => {
    const store = await open();
    for (let n = 0; n < 8; n += 1) await store.append(`thing-${n}`, [made(n)], { expectedRevision: 'none' });
    const { child, lines } = start('consume', 'group');
    await eventually(() => expect(lines).toHaveLength(4));
    await kill(child);
    const seen: unknown[] = [];
    await store.consume(
      'group',
      { types: ['Made'], after: () => LOG_START },
      async ({ data }) => void seen.push(data.n),
    );
    await eventually(() => expect(seen).toHaveLength(8));
    expect(seen.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test('two processes that consume for a moment lose nothing', async () => {
    const [store, other] = [await open(), await open()];
    await store.append('thing', range(4).map(made), { expectedRevision: 'none' });
    const [first, second]: [unknown[], unknown[]] = [[], []];
    const options = { types: ['Made'], after: () => LOG_START };
    await store.consume('group', options, async ({ data }) => void first.push(data.n));
    await other.consume('group', options, async ({ data }) => void second.push(data.n));
    await other.append('thing', [made(4)], { expectedRevision: 3 });
    await eventually(() => expect([first, second]).toEqual([range(5), range(5)]));
  });

  test('on a full disk, appends fail and no acknowledged append is lost', async () => {
    // The file-size limit makes the kernel refuse further writes; the signal that it sends by default is ignored.
    const { child, lines } = start('fill', 'thing', "trap '' XFSZ; ulimit -f 2000");
    const [code] = await once(child, 'close');
    expect(code).toBe(0);
    // EFBIG, which SQLite does not tell from other errors of a disk.
    expect(lines.at(-1)).toMatch(/^refused Unavailable: The disk of the event log .* fails$/);
    expect(lines.length).toBeGreaterThan(10);
    const store = await open();
    const found = await stored(store);
    expect([...found].toSorted()).toEqual(lines.slice(0, -1).toSorted());
    await store.append('thing', [made(0)], { expectedRevision: found.size - 1 });
  });

  test('refuses files that are not event logs or have a newer version', async () => {
    const refusal = async (file: string): Promise<string> =>
      openSqliteEventStore({ path: file }).then(
        () => 'opened',
        (error: unknown) => String(error),
      );
    const text = join(folder, 'text.db');
    await writeFile(text, 'This is not a database, and it is long enough to be read as one. '.repeat(100));
    expect(await refusal(text)).toBe(
      `UnusableStore: The event log ${text} is damaged (file is not a database). Replace the store with a backup: venue restore FILE --overwrite`,
    );

    const foreign = join(folder, 'foreign.db');
    const database = new DatabaseSync(foreign);
    database.exec('CREATE TABLE notes (text TEXT)');
    database.close();
    expect(await refusal(foreign)).toBe(`UnusableStore: ${foreign} is not an event log of this service`);

    await (await openSqliteEventStore({ path })).close();
    const newer = new DatabaseSync(path);
    newer.exec('PRAGMA user_version = 99');
    newer.close();
    expect(await refusal(path)).toBe(
      `UnusableStore: The event log ${path} was written by a newer version (schema 99; this version supports 1)`,
    );
    expect(await refusal(folder)).toMatch(
      /^UnusableStore: The event log .* cannot be opened: unable to open database file$/,
    );
  });

  test('is created once when several processes open it concurrently', async () => {
    const opened = await Promise.all(Array.from({ length: 5 }, () => open()));
    const others = Array.from({ length: 3 }, (_, index) => start('append', `process${index}`));
    await Promise.all(opened.map((store, n) => store.append(`store-${n}`, [made(n)], { expectedRevision: 'none' })));
    await eventually(() => expect(Math.min(...others.map(({ lines }) => lines.length))).toBeGreaterThan(10));
  });
});
