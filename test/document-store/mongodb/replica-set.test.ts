import { setTimeout as delay } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Collection, OperatedDocumentStore } from '../../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../../src/document-store/mongodb/document-store.ts';
import { Unavailable } from '../../../src/runtime/unavailable.ts';
import { UnusableStore } from '../../../src/runtime/unusable-store.ts';
import { ask } from '../ask.ts';
import { replace } from '../replace.ts';
import { NEVER, type ReplicaSet, startReplicaSet } from './replica-set.ts';

type Numbered = { readonly n: number };
const RECORDS: Collection<Numbered> = { name: 'numbers', kind: 'record', indexes: [{ fields: ['n'] }] };

const OK = { ok: 1, n: 1, nModified: 1 };
const DUPLICATE = { ok: 1, n: 0, writeErrors: [{ index: 0, code: 11_000, errmsg: 'duplicate' }] };
const NOT_BY_A_MAJORITY = {
  ...OK,
  writeConcernError: { code: 64, codeName: 'WriteConcernTimeout', errmsg: 'waiting for replication timed out' },
};

describe('MongoDB document store on a replica set', () => {
  let set: ReplicaSet;
  let store: OperatedDocumentStore;
  let answer: (command: Document) => Document | undefined | Promise<Document | undefined>;

  beforeEach(async () => {
    answer = () => undefined;
    set = await startReplicaSet((command) => answer(command));
  });
  afterEach(async () => {
    await store.close();
    set.stop();
  });

  async function open(options = '') {
    store = await openMongoDocumentStore({ url: `${set.url}${options}` });
    return store.open(RECORDS);
  }
  const sent = (name: string) => set.commands.filter((command) => name in command);

  it('creates indexes while a member is down', async () => {
    // The server waits for every voting member unless the command asks for fewer.
    answer = (command) => ('createIndexes' in command && command.commitQuorum !== 'majority' ? NEVER : undefined);
    await open();
    expect(sent('createIndexes')).toHaveLength(1);
    await store.makeIndexes({ ...RECORDS, name: 'loaded', kind: 'readModel' });
    expect(sent('createIndexes').map(({ createIndexes }) => createIndexes)).toEqual(['numbers', 'loaded']);
  });

  it('allows index creation more time than any other operation', async () => {
    answer = async (command) => void ('createIndexes' in command && (await delay(1_500)));
    await open('&socketTimeoutMS=500&connectTimeoutMS=5000');
    expect(sent('createIndexes')).toHaveLength(1);
  });

  it('repeats the opening of a collection that another process opens at the same moment', async () => {
    const deadlock = { ok: 0, code: 1, codeName: 'InternalError', errmsg: 'deadlock detected' };
    answer = (command) => ('createIndexes' in command && sent('createIndexes').length < 4 ? deadlock : undefined);
    await open();
    expect(sent('createIndexes')).toHaveLength(4);
    await store.makeIndexes({ ...RECORDS, name: 'loaded', kind: 'readModel' });
    // The repetition ends.
    answer = (command) => ('createIndexes' in command ? deadlock : undefined);
    await store.close();
    await expect(open('&serverSelectionTimeoutMS=300')).rejects.toThrow('deadlock detected');
  });

  it('requires majority, journal and primary for every operation unless the URL is explicit', async () => {
    const documents = await open();
    await documents.insert('a', { n: 1 });
    await replace(documents, 'a', { n: 2 }, 1);
    await documents.project([{ key: 'a', position: '1', document: { n: 3 } }]);
    await documents.delete('a');
    await documents.getMany(['a']);
    await Array.fromAsync(documents.find(ask()));
    const writes = ['create', 'createIndexes', 'insert', 'update', 'delete'].flatMap(sent);
    expect(writes.length).toBeGreaterThanOrEqual(6);
    for (const write of writes) expect(write.writeConcern).toEqual({ w: 'majority', j: true, wtimeout: 5_000 });
    const reads = sent('find').filter(({ find }) => find === 'numbers');
    // One of them belongs to the update.
    expect(reads).toHaveLength(3);
    for (const read of reads) {
      expect(read.readConcern).toEqual({ level: 'majority' });
      expect(read.$readPreference).toBeUndefined();
    }
  });

  it.each(['', '&retryWrites=true', '&retryWrites=false'])(
    'never lets the driver repeat a write, and deletes in two steps, with the options "%s"',
    async (options) => {
      const documents = await open(options);
      await documents.insert('a', { n: 1 });
      expect(await documents.delete('a')).toBe(true);
      const writes = set.commands.filter((command) =>
        ['insert', 'update', 'delete'].some((name) => command[name] === 'numbers'),
      );
      expect(writes.map((command) => Object.keys(command)[0])).toEqual(['insert', 'update', 'delete']);
      expect(writes.map(({ txnNumber }) => txnNumber)).toEqual([undefined, undefined, undefined]);
    },
  );

  it('recognises its own lost insert on a server that does not recognise a repeated command', async () => {
    const documents = await open();
    let stored: unknown;
    answer = (command) => {
      if ('update' in command && command.updates[0].q.w !== stored) return { ok: 1, n: 0, nModified: 0 };
      if (!('insert' in command)) return undefined;
      if (stored !== undefined) return DUPLICATE;
      stored = command.documents[0].w;
      set.cut();
      return NEVER;
    };
    expect(await documents.insert('a', { n: 1 })).toBe(true);
    expect(await documents.insert('a', { n: 2 })).toBe(false);
  });

  it.each([
    ['a primary that has stepped down', { ok: 0, code: 10_107, errmsg: 'not primary' }],
    ['a primary that steps down before a majority has the write', { ...OK, writeConcernError: { code: 11_602 } }],
    ['an overloaded server', { ok: 0, code: 462, errorLabels: ['SystemOverloadedError', 'RetryableError'] }],
  ])('repeats reads and writes that %s refuses', async (_, refusal) => {
    const documents = await open();
    const refusedOnce = async (name: string, operation: () => Promise<unknown> | undefined) => {
      let refused = 0;
      answer = (command) => {
        if (!(name in command) || refused > 0) return undefined;
        refused += 1;
        return refusal;
      };
      await operation();
      expect([name, refused]).toEqual([name, 1]);
    };
    const known = { stored: { key: 'a', version: 1, document: { n: 1 } } };
    const write = { key: 'a', position: '1', document: { n: 1 } };
    await refusedOnce('insert', () => documents.insert('a', { n: 1 }));
    await refusedOnce('update', () => documents.update('a', () => ({ n: 2 }), known));
    await refusedOnce('delete', () => documents.delete('a'));
    await refusedOnce('update', () => documents.project([write]));
    await refusedOnce('insert', () => documents.project([{ ...write, key: 'b', isNew: true }]));
    if ('errmsg' in refusal) await refusedOnce('find', () => documents.getMany(['a']));
  });

  it('writes projected documents in the order of their keys, so that two processes do not wait for each other', async () => {
    const documents = await open();
    const write = (key: string) => ({ key, position: '1', document: { n: 1 } });
    await documents.project(['b', 'c', 'a'].map(write));
    const [sorted] = sent('update').filter(({ update }) => update === 'numbers');
    expect(sorted?.updates.map(({ q }: Document) => q._id)).toEqual(['a', 'b', 'c']);
  });

  it('determines the outcome of a write that no majority acknowledged in time', async () => {
    const documents = await open();
    let inserts = 0;
    answer = (command) => {
      if (!('insert' in command)) return undefined;
      inserts += 1;
      return inserts === 1 ? NOT_BY_A_MAJORITY : DUPLICATE;
    };
    expect(await documents.insert('a', { n: 1 })).toBe(true);
    // Checked with a write that changes nothing, which a majority also has to acknowledge.
    const [looked] = sent('update').filter(({ update }) => update === 'numbers');
    expect(looked).toMatchObject({
      writeConcern: { w: 'majority' },
      updates: [{ u: { $set: { w: expect.any(String) } } }],
    });
  });

  it('reports an unknown user or a missing right in one line', async () => {
    const refused = (code: number, errmsg: string) => ({ ok: 0, code, errmsg });
    const url = `${set.url.replace('//', '//ada:secret@')}&authSource=admin`;
    // DocumentDB's gateway answers `Unauthorized`.
    for (const [code, words] of [
      [18, 'Authentication failed.'],
      [13, 'Invalid account: User details not found in the database'],
    ] as const) {
      answer = (command) => ('saslStart' in command ? refused(code, words) : undefined);
      await expect(openMongoDocumentStore({ url })).rejects.toThrow(
        new UnusableStore(`MONGODB_URL: MongoDB rejected the user or the password: ${words}`),
      );
    }
    const reason = 'not authorized on venue to execute command { create: "numbers", note: "secret" }';
    answer = (command) => ('create' in command ? refused(13, reason) : undefined);
    await expect(open()).rejects.toMatchObject({
      name: 'UnusableStore',
      message: expect.stringMatching(
        /^MONGODB_URL: the user of MongoDB lacks a right: it needs readWrite .*docs\/operations\/servers\.md.*: not authorized on venue to execute command create$/,
      ),
    });
    // No repetition can help.
    expect(sent('create')).toHaveLength(1);
  });

  it('rejects every unanswered operation as unavailable, including concurrent writes', async () => {
    const documents = await open('&serverSelectionTimeoutMS=300');
    const records = await store.open({ ...RECORDS, name: 'records' });
    set.stop();
    const write = { key: 'a', position: '1', document: { n: 1 } };
    const asked = [records.insert('a', { n: 1 }), records.get('a'), documents.project([write])];
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason)).toEqual(
      asked.map(() => expect.any(Unavailable)),
    );
  });

  const OVERWRITTEN = { _id: 'a', v: 9, d: { n: 9 } };
  it.each([
    ['update', 'deleted', undefined],
    ['update', 'overwritten since', OVERWRITTEN],
    ['delete', 'overwritten since', OVERWRITTEN],
  ] as const)('does not report that a lost %s had no effect when the document is %s', async (kind, _, stored) => {
    const documents = await open();
    let writes = 0;
    answer = (asked) => {
      if ('find' in asked)
        return { ok: 1, cursor: { id: 0n, ns: 'venue.numbers', firstBatch: stored ? [stored] : [] } };
      if (!('update' in asked)) return undefined;
      writes += 1;
      return writes === 1 ? NOT_BY_A_MAJORITY : { ok: 1, n: 0, nModified: 0 };
    };
    const known = { stored: { key: 'a', version: 1, document: { n: 1 } } };
    const write = kind === 'delete' ? documents.delete('a', 1) : documents.update('a', () => ({ n: 2 }), known);
    await expect(write).rejects.toThrow(Unavailable);
  });

  it.each([
    ['changed since, so that it may be ours', { _id: 'a', v: 2, w: 'x', d: { n: 9 } }, undefined],
    ['inserted by another client', { _id: 'a', v: 1, w: 'x', d: { n: 9 } }, false],
    ['that of another key with the same unique value', undefined, false],
  ] as const)('reports what is known of a lost insert when the document is %s', async (_, stored, said) => {
    const documents = await open();
    let inserts = 0;
    answer = (asked) => {
      if ('find' in asked)
        return { ok: 1, cursor: { id: 0n, ns: 'venue.numbers', firstBatch: stored ? [stored] : [] } };
      if ('update' in asked && asked.update === 'numbers') return { ok: 1, n: 0, nModified: 0 };
      if (!('insert' in asked)) return undefined;
      inserts += 1;
      return inserts === 1 ? NOT_BY_A_MAJORITY : DUPLICATE;
    };
    const inserting = documents.insert('a', { n: 1 });
    if (said === undefined) await expect(inserting).rejects.toThrow(Unavailable);
    else expect(await inserting).toBe(said);
  });

  it('reports an unknown outcome when no majority ever acknowledges a write', async () => {
    const documents = await open();
    answer = (command) => ('insert' in command || 'update' in command ? NOT_BY_A_MAJORITY : undefined);
    const error = await documents.insert('a', { n: 1 }).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Unavailable);
    expect(error).toHaveProperty('message', expect.stringContaining('whether a write was applied is unknown'));
  });
});
