import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { test as base, describe, expect } from 'vitest';
import type { Collection, Documents, OperatedDocumentStore } from '../../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../../src/document-store/mongodb/document-store.ts';
import { eventually } from '../../eventually.ts';
import { lacks } from '../../lacks.ts';
import { type Passing, startProxyTo } from '../../proxy.ts';
import { ask } from '../ask.ts';
import { MONGODB, ownDatabase, patient } from '../engines.ts';
import { commandIn } from './commands.ts';

const GENERATION = 'abcdef01.7';

type Day = { readonly space: number; readonly n: number; readonly text?: string };

const days: Collection<Day> = {
  name: 'days',
  kind: 'readModel',
  generation: GENERATION,
  indexes: [{ fields: ['space'] }],
};

const position = (n: number) => String(n).padStart(16, '0');
const day = (key: string, n: number, more: Partial<Day> = {}) => ({
  key,
  position: position(n),
  document: { space: 1, n, ...more },
});
const OF_SPACE = ask<Day>({ where: { space: 1 } });

/** Two processes on one store, of which the first may answer from memory while `owner.isAlone`. */
async function openPair() {
  const url = ownDatabase();
  /** How long each message is held back, and the names of the commands of the first process. */
  const network = { delayMs: (_: Passing): number => 0, sent: [] as string[] };
  const proxy = await startProxyTo(url, (passing, chunk) => {
    const command = passing === 'request' ? commandIn(chunk) : undefined;
    if (command?.collection === `${GENERATION}.days`) network.sent.push(command.name);
    return passing === 'connection' ? false : network.delayMs(passing) || false;
  });
  const store = await openMongoDocumentStore({ url: patient(proxy.url) });
  const other = await openMongoDocumentStore({ url: patient(url) });
  const owner = { isAlone: true };
  const end = store.cacheGeneration(GENERATION, () => owner.isAlone);
  const [here, there] = [await store.open(days), await other.open(days)];
  network.sent.length = 0;
  const stop = async () => {
    await Promise.all([store.close(), other.close()]);
    proxy.close();
  };
  return { store, other, here, there, owner, network, proxy, end, stop };
}

const test = base.extend<{ pair: Awaited<ReturnType<typeof openPair>> }>({
  pair: async ({ onTestFinished }, use) => {
    const pair = await openPair();
    onTestFinished(pair.stop);
    await use(pair);
  },
});

const n = async (documents: Documents<Day>, key: string) => (await documents.get(key))?.document.n;
const found = async (documents: Documents<Day>) =>
  (await Array.fromAsync(documents.find(OF_SPACE))).map(({ key, document }) => `${key}@${document.n}`);
const paged = async (documents: Documents<Day>) =>
  (await Array.fromAsync(documents.pages(OF_SPACE))).flat().map((row) => `${row.key}@${row.read().n}`);

/** All ways to read the documents a, b and c. */
const everyRead = async (documents: Documents<Day>) => ({
  get: [await n(documents, 'a'), await n(documents, 'b'), await n(documents, 'c')],
  many: (await documents.getMany(['a', 'b', 'c'])).map(({ document }) => document.n),
  find: await found(documents),
  pages: await paged(documents),
});

const project = (store: OperatedDocumentStore, writes: Parameters<Documents<Day>['project']>[0], at: number) =>
  store.project(GENERATION, new Map([['days', writes]]), {
    position: position(at),
    events: at,
    failing: [],
    after: at === 1 ? '' : position(at - 1),
  });

describe.skipIf(lacks(MONGODB))('the documents of a generation in memory', () => {
  test('are asked of the server once, also those that do not exist, and results of several batches', async ({
    pair,
  }) => {
    const { here, network } = pair;
    await here.project([day('a', 1), day('b', 1)]);
    network.sent.length = 0;
    const first = await everyRead(here);
    expect(network.sent.length).toBeGreaterThan(0);
    network.sent.length = 0;
    expect(await everyRead(here)).toEqual(first);
    expect(first).toEqual({
      get: [1, 1, undefined],
      many: [1, 1],
      find: ['a@1', 'b@1'],
      pages: ['a@1', 'b@1'],
    });
    const long = Array.from({ length: 1_200 }, (_, i) => day(String(i).padStart(4, '0'), 1, { space: 2 }));
    await here.project(long);
    const list = () => Array.fromAsync(here.pages(ask({ where: { space: 2 } })));
    const rows = (await list()).flat();
    network.sent.length = 0;
    expect((await list()).flat().map(({ key }) => key)).toEqual(rows.map(({ key }) => key));
    expect(rows).toHaveLength(1_200);
    expect(network.sent).toEqual([]);
  });

  test('are those that this process has written last', async ({ pair: { store, here } }) => {
    const expected = new Map<string, number>();
    for (let at = 1; at <= 24; at += 1) {
      const written = ['a', 'b', 'c'].filter((_, i) => at % (i + 2) === 0);
      // Every other write removes the document.
      const isRemoved = at % 4 === 0;
      const writes = written.map((key) => ({ ...day(key, at), ...(isRemoved && { document: undefined }) }));
      for (const key of written)
        if (isRemoved) expected.delete(key);
        else expected.set(key, at);
      if (at % 8 < 4) await here.project(writes);
      expect(await project(store, at % 8 < 4 ? [] : writes, at)).toBe(true);
      const values = ['a', 'b', 'c'].map((key) => expected.get(key));
      const present = ['a', 'b', 'c'].flatMap((key) => (expected.has(key) ? [`${key}@${expected.get(key)}`] : []));
      for (let round = 0; round < 2; round += 1) {
        const { get, many, find, pages } = await everyRead(here);
        expect(get).toEqual(values);
        expect(many).toEqual(values.filter((value) => value !== undefined));
        expect(find.toSorted()).toEqual(present);
        expect(pages.toSorted()).toEqual(present);
      }
    }
  });

  test('are not used, and not filled for later, once another process may project', async ({ pair }) => {
    const { here, there, owner, store } = pair;
    await here.project([day('a', 1)]);
    await everyRead(here);
    owner.isAlone = false;
    await there.project([day('a', 2), day('c', 2)]);
    const now = { get: [2, undefined, 2], many: [2, 2], find: ['a@2', 'c@2'], pages: ['a@2', 'c@2'] };
    expect(await everyRead(here)).toEqual(now);
    // It projects again, from the stored checkpoint on.
    pair.end();
    const end = store.cacheGeneration(GENERATION, () => owner.isAlone);
    owner.isAlone = true;
    expect(await everyRead(here)).toEqual(now);
    end();
    await there.project([day('a', 3)]);
    expect(await n(here, 'a')).toBe(3);
  });

  test('are not those of a read that began while another process could project', async ({ pair }) => {
    const { here, there, network, store, end } = pair;
    await there.project([day('a', 1)]);
    network.delayMs = (passing) => (passing === 'answer' ? 200 : 0);
    const late = [n(here, 'a'), found(here), paged(here)];
    await eventually(() => expect(network.sent).toEqual(['find', 'find', 'find']));
    await delay(50);
    end();
    await there.project([day('a', 2)]);
    store.cacheGeneration(GENERATION, () => true);
    expect(await Promise.all(late)).toEqual([1, ['a@1'], ['a@1']]);
    expect(await everyRead(here)).toMatchObject({ get: [2, undefined, undefined], find: ['a@2'], pages: ['a@2'] });
  });

  test('show what a former projector writes late, once this one has folded it', async ({ pair }) => {
    const { here, there } = pair;
    await here.project([day('a', 1)]);
    await everyRead(here);
    // Events 2 and 3, which this process has yet to fold. It finds one written, and writes the other without effect.
    await there.project([day('a', 2), day('b', 3)]);
    expect((await here.projected(['a'])).get('a')?.position).toBe(position(2));
    await here.project([{ ...day('b', 3), isNew: true }]);
    expect(await everyRead(here)).toEqual({
      get: [2, 3, undefined],
      many: [2, 3],
      find: ['a@2', 'b@3'],
      pages: ['a@2', 'b@3'],
    });
  });

  test('are forgotten with a write whose answer is lost', async ({ pair }) => {
    const { here, network, proxy } = pair;
    await here.project([day('a', 1)]);
    for (let at = 2; at < 12; at += 1) {
      await everyRead(here);
      network.delayMs = () => 5;
      const written = here.project([day('a', at)]);
      const reads = [n(here, 'a'), found(here)];
      setTimeout(() => proxy.cut(), at);
      await Promise.all([written, ...reads.map((read) => read.catch(() => {}))]);
      network.delayMs = () => 0;
      expect(await n(here, 'a')).toBe(at);
      expect(await found(here)).toEqual([`a@${at}`]);
    }
  });

  test('never go back while reads and writes overlap and messages come late', async ({ pair }) => {
    const { here, there, network } = pair;
    const keys = ['a', 'b', 'c', 'd'];
    await here.project(keys.map((key) => day(key, 1)));
    network.delayMs = () => Math.floor(Math.random() * 4);
    /** The position up to which each document has been written or folded, as far as this process knows. */
    const known = new Map(keys.map((key) => [key, 1]));
    let at = 1;
    let isWriting = true;
    const violations: string[] = [];
    const check = (key: string, least: number | undefined, value: number | undefined) => {
      if ((value ?? 0) < (least ?? 0)) violations.push(`${key}: ${value} after ${least}`);
    };
    async function readAll(): Promise<void> {
      while (isWriting) {
        // Answers from memory alone would let nothing else happen.
        await nextTurn();
        const before = new Map(known);
        const way = Math.floor(Math.random() * 3);
        const documents =
          way === 0
            ? await here.getMany(keys)
            : way === 1
              ? await Array.fromAsync(here.find(OF_SPACE))
              : await Promise.all(keys.map((key) => here.get(key)));
        expect(documents).toHaveLength(keys.length);
        for (const stored of documents)
          if (stored !== undefined) check(stored.key, before.get(stored.key), stored.document.n);
      }
    }
    async function writeAll(): Promise<void> {
      for (let round = 0; round < 150; round += 1) {
        const key = keys[Math.floor(Math.random() * keys.length)] ?? 'a';
        at += 1;
        const [own, foreign] = [at, Math.random()];
        if (foreign < 0.3) await there.project([day(key, own)]);
        // The fold skips what it finds written.
        const last = (await here.projected([key])).get(key)?.position ?? '';
        if (last < position(own)) await here.project([day(key, own)]);
        known.set(key, own);
      }
      isWriting = false;
    }
    await Promise.all([writeAll(), readAll(), readAll(), readAll()]);
    expect(violations).toEqual([]);
  });

  test('take a bounded part of the memory', async ({ pair: { here, network } }) => {
    const text = 'x'.repeat(100_000);
    const keys = Array.from({ length: 300 }, (_, i) => `k${i}`);
    for (const key of keys) await here.project([day(key, 1, { text })]);
    const readAgain = async () => {
      network.sent.length = 0;
      for (const key of keys) await here.get(key);
      return network.sent.length;
    };
    await readAgain();
    // 30 MB do not fit, so that the first are forgotten before the last are read.
    expect(await readAgain()).toBe(keys.length);
    // A result that is too long is not cached, although it would fit.
    await here.project(keys.slice(0, 8).map((key) => day(key, 2, { text, space: 3 })));
    const longResult = () => Array.fromAsync(here.find(ask({ where: { space: 3 } })));
    // Neither is one that is read by a long query, or a document by a long key, which clients can invent.
    const longQuery = () => Array.fromAsync(here.find(ask({ where: { text: { in: [text] } }, limit: 1 })));
    for (const read of [longResult, longQuery, () => here.get('k'.repeat(201))]) {
      await read();
      network.sent.length = 0;
      await read();
      expect(network.sent).toEqual(['find']);
    }
  });
});
