import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Collection } from '../../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../../src/document-store/mongodb/document-store.ts';
import { lacks } from '../../lacks.ts';
import { startProxyTo } from '../../proxy.ts';
import { MONGODB, ownDatabase } from '../engines.ts';
import { replace } from '../replace.ts';
import { commandIn } from './commands.ts';
import { withOptions } from './server-url.ts';

type Numbered = { readonly n: number };
const numbers: Collection<Numbered> = { name: 'numbers', kind: 'record', indexes: [], isWrittenTogether: true };

describe.skipIf(lacks(MONGODB))('a collection whose writes share commands', () => {
  const sent: string[] = [];
  let isLosing = false;
  let proxy: Awaited<ReturnType<typeof startProxyTo>>;
  let store: Awaited<ReturnType<typeof openMongoDocumentStore>>;

  beforeEach(async () => {
    proxy = await startProxyTo(ownDatabase(), (passing, chunk) => {
      const command = passing === 'request' ? commandIn(chunk) : undefined;
      if (command?.collection === 'numbers') sent.push(command.name);
      if (!isLosing || passing !== 'answer') return false;
      isLosing = false;
      return true;
    });
    // The driver must neither repeat a write nor send queries of its own.
    const options = { heartbeatFrequencyMS: 60_000, retryWrites: false };
    store = await openMongoDocumentStore({ url: withOptions(proxy.url, options) });
  });
  afterEach(async () => {
    await store.close();
    proxy.close();
  });

  const open = async (keys: readonly string[] = []) => {
    const documents = await store.open(numbers);
    await Promise.all(keys.map((key) => documents.insert(key, { n: 0 })));
    sent.length = 0;
    return documents;
  };
  const KEYS = ['a', 'b', 'c'];

  it('takes one command for inserts at the same time, and one for updates', async () => {
    const documents = await open();
    expect(await Promise.all(KEYS.map((key) => documents.insert(key, { n: 1 })))).toEqual([true, true, true]);
    expect(sent).toEqual(['insert']);
    sent.length = 0;
    await Promise.all(KEYS.map((key) => documents.update(key, (before) => ({ n: (before?.n ?? 0) + 1 }))));
    expect(sent).toEqual(['find', 'update']);
    expect(await documents.getMany(KEYS)).toEqual(KEYS.map((key) => ({ key, version: 2, document: { n: 2 } })));
  });

  it('tells each write its own outcome', async () => {
    const documents = await open(['b']);
    expect(await Promise.all(KEYS.map((key) => documents.insert(key, { n: 1 })))).toEqual([true, false, true]);
    await replace(documents, 'c', { n: 2 }, 1);
    const written = KEYS.map((key) => replace(documents, key, { n: 3 }, 1));
    expect(await Promise.all([...written, replace(documents, 'd', { n: 3 }, 1)])).toEqual([true, true, false, false]);
    const stored = (await documents.getMany(['a', 'b', 'c', 'd'])).map(({ key, document: { n } }) => [key, n]);
    expect(stored).toEqual([
      ['a', 3],
      ['b', 3],
      ['c', 2],
    ]);
    expect(await Promise.all([documents.insert('e', { n: 1 }), documents.insert('e', { n: 2 })])).toEqual([
      true,
      false,
    ]);
  });

  it('loses none of many updates of one document', async () => {
    const documents = await open();
    const add = (before: Numbered | undefined) => ({ n: (before?.n ?? 0) + 1 });
    await Promise.all(Array.from({ length: 50 }, () => documents.update('a', add)));
    expect(await documents.get('a')).toEqual({ key: 'a', version: 50, document: { n: 50 } });
  });

  it('applies each write once when the response to their command is lost', async () => {
    const documents = await open();
    isLosing = true;
    expect(await Promise.all(KEYS.map((key) => documents.insert(key, { n: 1 })))).toEqual([true, true, true]);
    isLosing = true;
    expect(await Promise.all(KEYS.map((key) => replace(documents, key, { n: 2 }, 1)))).toEqual([true, true, true]);
    expect(isLosing).toBe(false);
    expect(await documents.getMany(KEYS)).toEqual(KEYS.map((key) => ({ key, version: 2, document: { n: 2 } })));
  });
});
