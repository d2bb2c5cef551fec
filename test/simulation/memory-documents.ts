import {
  type Checkpoint,
  type Collection,
  checkCollection,
  type Documents,
  type Group,
  isGeneration,
  type OperatedDocumentStore,
  type Projected,
  type Query,
  type Stored,
} from '../../src/document-store/document-store.ts';
import { createGroups } from '../../src/document-store/sqlite/groups.ts';
import { createUpdate } from '../../src/document-store/update.ts';
import type { Watch } from '../webhooks/watched-documents.ts';
import { frozenCopy } from './frozen-copy.ts';
import { found, matches } from './matching.ts';

/** A stored document, or the tombstone of one. */
type Entry = { readonly key: string; readonly version: number; readonly position?: string; readonly document?: object };

type StoredCollection = {
  readonly kind: Collection<object>['kind'];
  readonly ttl: string | undefined;
  readonly generation: string | undefined;
  readonly entries: Map<string, Entry>;
  /** The fields of the unique indexes that any process has declared. */
  readonly unique: Map<string, readonly string[]>;
};

/** What a document store holds. Any number of stores may be open on one disk. */
export type DocumentsDisk = {
  readonly collections: Map<string, StoredCollection>;
  readonly checkpoints: Map<string, Checkpoint>;
};

export const newDocumentsDisk = (): DocumentsDisk => ({ collections: new Map(), checkpoints: new Map() });

export type MemoryDocumentsOptions = {
  /** Hooks around every call, with the collection or the generation: they may delay it, make it fail, or never resolve. */
  readonly watch?: Watch;
  /** The engine's own clock. Default: it has none. */
  readonly now?: () => number;
};

/**
 * Documents in memory. Without hooks, each call takes effect at once and is answered in a later microtask. A generation is written as on
 * MongoDB: each collection by itself, then the checkpoint.
 */
export function openMemoryDocuments(
  disk: DocumentsDisk,
  { watch = {}, now }: MemoryDocumentsOptions = {},
): OperatedDocumentStore {
  const opened = new Map<string, unknown>();
  let isClosed = false;

  function checkOpen(): void {
    if (isClosed) throw new Error('The document store is closed');
  }

  /** One call, which takes effect at one moment. */
  async function call<R>(method: string, of: string, work: () => R): Promise<R> {
    checkOpen();
    await watch.before?.(method, of);
    checkOpen();
    const result = work();
    await watch.after?.(method, of);
    return result;
  }

  async function open<D extends object>(collection: Collection<D>): Promise<Documents<D>> {
    checkCollection(collection);
    const name = fullName(collection);
    await call('open', name, () => declare(disk, collection));
    // A collection's name determines the type of its documents.
    const documents = (opened.get(name) as Documents<D> | undefined) ?? documentsOf(disk, collection, call);
    opened.set(name, documents);
    return documents;
  }

  return {
    open,
    openWithoutIndexes: (collection) => open({ ...collection, indexes: [] }),
    makeIndexes: (collection) => call('makeIndexes', fullName(collection), () => declare(disk, collection)),

    checkpoints: (generations) =>
      call('checkpoints', '', () => {
        const all = [...disk.checkpoints];
        return new Map(generations === undefined ? all : all.filter(([name]) => generations.includes(name)));
      }),

    async project(generation, writes, { after, ...checkpoint }, onWritten) {
      await Promise.all(
        Array.from(writes, ([name, some]) => {
          const of = fullName({ name, generation });
          return call('project', of, () => project(entriesOf(disk, of), some));
        }),
      );
      onWritten?.();
      return call('advance', generation, () => {
        if ((disk.checkpoints.get(generation)?.position ?? '') !== after) return false;
        disk.checkpoints.set(generation, frozenCopy(checkpoint));
        return true;
      });
    },

    cacheGeneration: () => () => {},

    drop: (name) =>
      call('drop', name, () => {
        disk.checkpoints.delete(name);
        for (const [each, { generation }] of disk.collections)
          if (each === name || (isGeneration(name) && generation === name)) disk.collections.delete(each);
      }),

    purge: () => call('purge', '', () => true),
    names: () => call('names', '', () => namesOf(disk)),

    collections: () =>
      call('collections', '', () =>
        namesOf(disk).map((name) => {
          const { kind = 'readModel', ttl } = disk.collections.get(name) ?? {};
          return { name, kind, ...(ttl !== undefined && { ttl }) };
        }),
      ),

    room: () => call('room', '', () => undefined),
    now: () => call('now', '', () => now?.()),
    ping: () => call('ping', '', () => {}),

    async close() {
      isClosed = true;
    },
  };
}

/** Removes the documents that have expired. Engines do so at times that readers do not know. */
export function removeExpired(disk: DocumentsDisk, now: number): void {
  const where = { below: new Date(now).toISOString() };
  for (const { ttl, entries } of disk.collections.values()) {
    if (ttl === undefined) continue;
    for (const { key, document } of entries.values())
      if (document !== undefined && matches(document, { [ttl]: where })) entries.delete(key);
  }
}

type Call = <R>(method: string, of: string, work: () => R) => Promise<R>;

function documentsOf<D extends object>(disk: DocumentsDisk, collection: Collection<D>, callOf: Call): Documents<D> {
  const name = fullName(collection);
  const call = <R>(method: string, work: (entries: Map<string, Entry>) => R): Promise<R> =>
    callOf(method, name, () => work(entriesOf(disk, name)));
  const select = (query: Query<D>) => (entries: Map<string, Entry>) =>
    found(
      [...entries.values()].flatMap((entry) => stored<D>(entry) ?? []),
      query,
    );

  /** @returns false, without writing, if the document is not at `version`, 0 for none, or a unique value is taken */
  const write = (method: string, key: string, document: D, version: number): Promise<boolean> => {
    const copy = frozenCopy(document);
    return call(method, (entries) => {
      const before = entries.get(key);
      const isTaken = [...(disk.collections.get(name)?.unique.values() ?? [])].some((fields) =>
        hasEqual(entries, { key, document: copy }, fields),
      );
      if (isTaken || version !== (before?.document === undefined ? 0 : before.version)) return false;
      entries.set(key, { ...before, key, version: (before?.version ?? 0) + 1, document: copy });
      return true;
    });
  };
  const get: Documents<D>['get'] = (key) => call('get', (entries) => stored<D>(entries.get(key)));
  const insert: Documents<D>['insert'] = (key, document) => write('insert', key, document, 0);
  const replace = (key: string, document: D, version: number) => write('replace', key, document, version);

  return {
    get,
    insert,
    update: createUpdate({ get, insert, replace }),
    getMany: (keys) =>
      call('getMany', (entries) => [...new Set(keys)].flatMap((key) => stored<D>(entries.get(key)) ?? [])),

    async *find(query) {
      yield* await call('find', select(query));
    },
    async *pages(query) {
      const page = await call('pages', select(query));
      if (page.length > 0) yield page.map(({ key, version, document }) => ({ key, version, read: () => document }));
    },

    count: ({ where }, atMost = Number.POSITIVE_INFINITY) =>
      call('count', (entries) => Math.min(atMost, select({ where } as Query<D>)(entries).length)),

    groups: <B extends keyof D & string, S extends keyof D & string>(
      { where }: Query<D>,
      by: readonly B[],
      sums: readonly S[] = [],
    ) =>
      call('groups', (entries) => {
        const groups = createGroups(by, sums);
        for (const { document } of select({ where } as Query<D>)(entries)) groups.add(document);
        return groups.rows().map(([values, count, totals]): Group<D, B, S> => {
          const added = JSON.parse(String(totals));
          return {
            values: JSON.parse(String(values)),
            count: Number(count),
            sums: new Map(sums.map((field, index) => [field, added[index]])),
          };
        });
      }),

    delete: (key, version) =>
      call('delete', (entries) => {
        const before = stored<D>(entries.get(key));
        return before !== undefined && (version ?? before.version) === before.version && entries.delete(key);
      }),

    project: (writes) => call('project', (entries) => project(entries, writes)),

    projected: (keys) =>
      call('projected', (entries) => {
        const states = keys.flatMap((key): [string, Projected<D>][] => {
          const entry = entries.get(key);
          if (entry?.position === undefined) return [];
          return [[key, { key, position: entry.position, document: stored<D>(entry)?.document }]];
        });
        return new Map(states);
      }),
  };
}

function project(entries: Map<string, Entry>, writes: readonly Projected<object>[]): void {
  for (const { key, position, document } of writes) {
    const before = entries.get(key);
    if (before?.position !== undefined && before.position >= position) continue;
    const version = (before?.version ?? 0) + 1;
    entries.set(key, { key, version, position, ...(document !== undefined && { document: frozenCopy(document) }) });
  }
}

function declare<D extends object>(
  { collections }: DocumentsDisk,
  { name, kind, ttl, generation, indexes }: Collection<D>,
): void {
  const stored = collections.getOrInsertComputed(fullName({ name, generation }), () => ({
    kind,
    ttl,
    generation,
    entries: new Map(),
    unique: new Map(),
  }));
  for (const { unique, fields } of indexes) if (unique) stored.unique.set(fields.join(), fields);
}

const entriesOf = (disk: DocumentsDisk, name: string): Map<string, Entry> => {
  const collection = disk.collections.get(name);
  if (collection === undefined) throw new Error(`The collection ${name} was dropped`);
  return collection.entries;
};

/** A collection's name determines the type of its documents. */
const stored = <D extends object>(entry: Entry | undefined): Stored<D> | undefined =>
  entry?.document === undefined ? undefined : { key: entry.key, version: entry.version, document: entry.document as D };

/** Whether another document has the same values in all of these fields. */
function hasEqual(
  entries: Map<string, Entry>,
  { key, document }: { readonly key: string; readonly document: object },
  fields: readonly string[],
): boolean {
  const values = fields.map((field) => [field, Reflect.get(document, field)] as const);
  if (values.some(([, value]) => value === undefined || value === null)) return false;
  const where = Object.fromEntries(values);
  return [...entries.values()].some(
    (other) => other.key !== key && other.document !== undefined && matches(other.document, where),
  );
}

const namesOf = ({ collections, checkpoints }: DocumentsDisk): string[] =>
  [...new Set([...[...collections].map(([name, { generation }]) => generation ?? name), ...checkpoints.keys()])].sort();

const fullName = ({ name, generation }: { readonly name: string; readonly generation?: string | undefined }): string =>
  generation === undefined ? name : `${generation}.${name}`;
