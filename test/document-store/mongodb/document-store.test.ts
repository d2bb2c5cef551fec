import dns from 'node:dns';
import { setTimeout } from 'node:timers/promises';
import { MongoBulkWriteError, MongoClient } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';
import type { Collection } from '../../../src/document-store/document-store.ts';
import { clientOptions } from '../../../src/document-store/mongodb/client-options.ts';
import { openMongoDocumentStore } from '../../../src/document-store/mongodb/document-store.ts';
import { existingKeys } from '../../../src/document-store/mongodb/duplicate-keys.ts';
import { Unavailable } from '../../../src/runtime/unavailable.ts';
import { freePort } from '../../free-port.ts';
import { lacks } from '../../lacks.ts';
import { startProxyTo } from '../../proxy.ts';
import { ask } from '../ask.ts';
import { MONGODB, ownDatabase, patient } from '../engines.ts';
import { replace } from '../replace.ts';
import { commandIn, monitorCommands } from './commands.ts';
import { withOptions } from './server-url.ts';

describe.skipIf(lacks(MONGODB))('MongoDB document store', () => {
  it('retries reads and projections when its connections are cut', async () => {
    const proxy = await startProxyTo(ownDatabase());
    const warn = vi.fn();
    const store = await openMongoDocumentStore({ url: proxy.url, logger: { warn } });
    try {
      const documents = await store.open<{ n: number }>({
        name: 'numbers',
        kind: 'readModel',
        indexes: [{ fields: ['n'] }],
      });
      for (let n = 1; n <= 40; n++) {
        const project = documents.project([{ key: 'a', position: String(n).padStart(3, '0'), document: { n } }]);
        if (n % 8 === 0) proxy.cut();
        await project;
        if (n % 8 === 4) proxy.cut();
        expect((await documents.get('a'))?.document.n).toBe(n);
        expect(await documents.count(ask({ where: { n } }))).toBe(1);
      }
      // Ten retries are logged once, or slightly more often if they take long, and never if the driver itself recovers.
      expect(warn.mock.calls.length).toBeLessThanOrEqual(3);
    } finally {
      await store.close();
      proxy.close();
    }
  });

  it('recreates the indexes of a collection that another process has dropped', async () => {
    const url = ownDatabase();
    const declared = { name: 'numbers@1.1', kind: 'readModel', indexes: [{ fields: ['n'] }] } as const;
    const stores = await Promise.all([1, 2].map(() => openMongoDocumentStore({ url })));
    const client = new MongoClient(url);
    try {
      for (const store of [...stores, ...stores]) {
        await store.open<{ n: number }>(declared);
        const indexes = await client.db().collection(declared.name).indexes();
        expect(indexes.map(({ key }) => Object.keys(key)[0])).toContain('d.n');
        await stores[1]?.drop(declared.name);
      }
    } finally {
      await client.close();
      await Promise.all(stores.map((store) => store.close()));
    }
  });

  it.each([
    ['the first page', 'find', [0, 1, 2, 3, 4, 20]],
    ['a later page', 'getMore', [1, 2]],
  ] as const)('yields everything or throws when connections are cut at %s', async (_, command, cuts) => {
    let left = 0;
    const proxy = await startProxyTo(ownDatabase(), (passing, chunk) => {
      if (left === 0 || passing !== 'request' || commandIn(chunk)?.name !== command) return false;
      left -= 1;
      return true;
    });
    const warn = vi.fn();
    const store = await openMongoDocumentStore({ url: patient(proxy.url), logger: { warn } });
    try {
      const documents = await store.open<{ n: number }>({ name: 'numbers', kind: 'record', indexes: [] });
      const all = Array.from({ length: 1_200 }, (_, n) => n);
      await Promise.all(all.map((n) => documents.insert(String(n).padStart(4, '0'), { n })));
      const numbers = () => Array.fromAsync(documents.find(ask()), ({ document }) => document.n);
      const outcomes: string[] = [];
      for (const count of cuts) {
        left = count;
        const found = await numbers().catch(() => undefined);
        outcomes.push(found === undefined ? 'thrown' : 'all');
        if (found !== undefined) expect(found).toEqual(all);
        expect(left === 0 || found === undefined).toBe(true);
        left = 0;
      }
      // A page that fails a few times is requested again; documents that were already yielded cannot be withdrawn.
      if (command === 'find') expect(outcomes).toEqual(['all', 'all', 'all', 'all', 'all', 'thrown']);
      // The log reports repeated requests.
      if (command === 'find') expect(warn).toHaveBeenCalled();
      expect(await numbers()).toEqual(all);
    } finally {
      await store.close();
      proxy.close();
    }
  });

  it('reconnects to the server after all of its connections have closed at once', async () => {
    const proxy = await startProxyTo(ownDatabase());
    const store = await openMongoDocumentStore({ url: proxy.url });
    try {
      const documents = await store.open<{ n: number }>({ name: 'numbers', kind: 'record', indexes: [] });
      await documents.insert('a', { n: 1 });
      const end = new AbortController();
      const reading = Array.from({ length: 8 }, async () => {
        while (!end.signal.aborted) expect((await documents.getMany(['a'])).length).toBe(1);
      });
      for (let round = 0; round < 5; round += 1) {
        await setTimeout(500);
        proxy.cut();
      }
      end.abort();
      await Promise.all(reading);
    } finally {
      await store.close();
      proxy.close();
    }
  });

  it('gives up a write to a server that stops reading', async () => {
    const proxy = await startProxyTo(ownDatabase());
    const impatient = { serverSelectionTimeoutMS: 500, connectTimeoutMS: 500, socketTimeoutMS: 500 };
    const store = await openMongoDocumentStore({ url: withOptions(proxy.url, impatient) });
    try {
      const documents = await store.open<{ text: string }>({ name: 'texts', kind: 'record', indexes: [] });
      proxy.stop();
      // More than the socket buffers hold.
      const inserted = documents.insert('a', { text: 'x'.repeat(12_000_000) });
      await expect(inserted).rejects.toThrow(Unavailable);
    } finally {
      await store.close();
      proxy.close();
    }
  });

  it('applies a write once, and reports that, when its response is lost', async () => {
    let losing = false;
    const proxy = await startProxyTo(ownDatabase(), (passing) => {
      if (!losing || passing !== 'answer') return false;
      losing = false;
      return true;
    });
    // The driver must not send queries of its own meanwhile.
    const options = { heartbeatFrequencyMS: 60_000, retryWrites: true };
    const store = await openMongoDocumentStore({ url: withOptions(proxy.url, options) });
    try {
      const documents = await store.open<{ n: number }>({ name: 'numbers', kind: 'record', indexes: [] });
      const losingAnswer = <R>(write: () => Promise<R>): Promise<R> => {
        losing = true;
        return write();
      };
      expect(await losingAnswer(() => documents.insert('a', { n: 1 }))).toBe(true);
      expect(await losingAnswer(() => documents.insert('a', { n: 2 }))).toBe(false);
      expect(await losingAnswer(() => replace(documents, 'a', { n: 3 }, 1))).toBe(true);
      expect(await losingAnswer(() => replace(documents, 'a', { n: 4 }, 1))).toBe(false);
      expect(await documents.get('a')).toEqual({ key: 'a', version: 2, document: { n: 3 } });
      expect(await losingAnswer(() => documents.delete('a', 2))).toBe(true);
      expect(await losingAnswer(() => documents.delete('a', 2))).toBe(false);
      expect(losing).toBe(false);
      expect(await documents.get('a')).toBeUndefined();
      // Exactly one of two concurrent deletes removes the document.
      for (let round = 0; round < 10; round += 1) {
        await documents.insert('both', { n: round });
        const other = documents.delete('both');
        expect((await Promise.all([losingAnswer(() => documents.delete('both')), other])).sort()).toEqual([
          false,
          true,
        ]);
      }
      // A removed document may be inserted again.
      expect(await losingAnswer(() => documents.insert('a', { n: 5 }))).toBe(true);
      expect(await documents.get('a')).toMatchObject({ document: { n: 5 } });
    } finally {
      await store.close();
      proxy.close();
    }
  });

  it('inserts a thousand new documents per round trip, and creates all indexes in one at the end', async () => {
    const monitor = await monitorCommands(patient(ownDatabase()));
    const store = await openMongoDocumentStore({ url: monitor.url });
    try {
      const declared: Collection<{ n: number; kind: string }> = {
        name: 'numbers',
        kind: 'readModel',
        generation: 'abcdef01.1',
        indexes: [{ fields: ['n'] }, { fields: ['kind', 'n'] }],
      };
      const documents = await store.openWithoutIndexes(declared);
      const sent = async (work: () => Promise<unknown>) => {
        monitor.commands.length = 0;
        await work();
        const own = monitor.commands.filter(({ collection }) => collection === 'abcdef01.1.numbers');
        return own.map(({ name }) => name);
      };
      const step = (from: number, count: number, position: string) =>
        Array.from({ length: count }, (_, i) => ({
          key: String(from + i),
          position,
          document: { n: from + i, kind: 'some' },
          isNew: true,
        }));
      const inserts = await sent(() => documents.project(step(0, 5_000, '001')));
      expect(new Set(inserts)).toEqual(new Set(['insert']));
      // A real server takes 100,000 documents per command. The stand-in takes 999, so a thousand are two commands there.
      expect(inserts.length).toBeLessThanOrEqual(10);
      const repeated = await sent(() => documents.project(step(4_500, 900, '002')));
      expect(repeated).toEqual(['insert', 'update']);
      expect(await sent(() => store.makeIndexes(declared))).toEqual(['createIndexes']);
    } finally {
      await store.close();
      monitor.close();
    }
  });

  it.each([
    ['w=1', 'w=1 is not supported: it must be majority'],
    ['W=0', 'w=0 is not supported'],
    ['journal=false', 'journal=false is not supported: it must be true'],
    ['j=false', 'j=false is not supported: it must be true'],
    ['wtimeoutMS=0', 'wtimeoutMS=0 is not supported: it must be a number of milliseconds above 0'],
    // The same option under its former name, which the driver still accepts.
    ['wtimeout=0', 'wtimeout=0 is not supported: it must be a number of milliseconds above 0'],
    ['readPreference=secondaryPreferred', 'readPreference=secondaryPreferred is not supported: it must be primary'],
    ['readConcernLevel=local', 'readConcernLevel=local is not supported: it must be majority'],
  ])('refuses a URL with %s, which would break a promise', async (option, message) => {
    const url = `mongodb://127.0.0.1:1,127.0.0.1:2/venue?replicaSet=rs0&${option}`;
    await expect(openMongoDocumentStore({ url })).rejects.toThrow(message);
  });

  it.each([
    ['mongodb://ada:secret@db/venue?appname=x&nosuchoption=1', /nosuchoption/i],
    ['mongodb://ada:sec@ret@db/venue', /connection string/],
    ['mongodb://ada:secret@db:port/venue', /db:port/],
    ['mongodb://db/venue?w=majority&w=majority', /"w" cannot appear more than once/],
    ['mongodb://db/venue?tls=true&tlsCAFile=/none/ca.crt', /\/none\/ca\.crt/],
  ])('refuses %s, which cannot be used, without quoting the password', async (url, message) => {
    const error = await openMongoDocumentStore({ url }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(TypeError);
    expect(error).toHaveProperty('message', expect.stringMatching(message));
    expect(String(error)).not.toMatch(/sec@?ret/);
  });

  it('requires majority, journal and primary unless the URL is explicit, and never lets the driver retry writes', () => {
    const needed = {
      readPreference: 'primary',
      readConcern: { level: 'majority' },
      retryWrites: false,
      writeConcern: { w: 'majority', journal: true, wtimeoutMS: 5_000 },
      // Each is shorter than the time limit of a request.
      serverSelectionTimeoutMS: 5_000,
      connectTimeoutMS: 3_000,
      socketTimeoutMS: 7_000,
      heartbeatFrequencyMS: 5_000,
    };
    expect(clientOptions('mongodb://127.0.0.1')).toMatchObject(needed);
    expect(clientOptions('mongodb://a:1,b:2/venue?w=majority&readPreference=primary')).toMatchObject(needed);
    const lenient = clientOptions('mongodb://a/?socketTimeoutMS=20000&serverselectiontimeoutms=0');
    expect(lenient).not.toHaveProperty('socketTimeoutMS');
    expect(lenient).not.toHaveProperty('serverSelectionTimeoutMS');
    expect(clientOptions('mongodb://a/?wTimeoutMS=500')).toMatchObject({
      writeConcern: { w: 'majority', journal: true, wtimeoutMS: 500 },
    });
  });

  it('recognises duplicate keys in any server language', () => {
    const duplicate = { index: 3, code: 11_000, errmsg: 'Schlüssel bereits vorhanden' };
    const error = (...writeErrors: object[]) =>
      new MongoBulkWriteError(
        { message: '', writeErrors } as never,
        { getWriteConcernError: () => undefined } as never,
      );
    expect(existingKeys(error(duplicate))).toEqual([3]);
    const other = error(duplicate, { ...duplicate, code: 14_031 });
    expect(() => existingKeys(other)).toThrow(other);
  });

  it.each([
    ['no servers', [], 'No addresses found at host'],
    ['servers of another domain', [{ name: 'db.evil.example', port: 27_017 }], 'Server record does not share'],
  ])(
    'reports a failing DNS lookup of a mongodb+srv URL as an error of the URL: %s',
    async (_what, records, message) => {
      const lookup = vi.spyOn(dns.promises, 'resolve').mockResolvedValue(records as never);
      const error = await openMongoDocumentStore({ url: 'mongodb+srv://cluster.example.org/x' }).catch(
        (caught) => caught,
      );
      lookup.mockRestore();
      expect(error).toBeInstanceOf(TypeError);
      expect(error).toHaveProperty('message', expect.stringContaining(message));
    },
  );

  it('reports an unreachable server', async () => {
    const url = `mongodb://127.0.0.1:${await freePort()}/?serverSelectionTimeoutMS=300`;
    const error = await openMongoDocumentStore({ url }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Unavailable);
    expect(error).toHaveProperty('message', expect.stringMatching(/^MongoDB at 127\.0\.0\.1:\d+ cannot be reached$/));
    expect(error).toHaveProperty('cause.message', expect.stringContaining('ECONNREFUSED'));
  });
});
