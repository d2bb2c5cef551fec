import { expect } from 'vitest';
import type { Collection, Documents, OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { LOG_START, type OperatedEventStore } from '../../src/event-store/event-store.ts';
import { ask } from '../document-store/ask.ts';
import { eventually } from '../eventually.ts';

/** Makes calls to an engine fail. */
export type Faults = {
  /** From now on, the nth call to the engine fails; with `lasting`, every later call too. */
  arm(nth: number, lasting: boolean): void;
  /** Ends the faults. @returns the number of calls to the engine since `arm` */
  disarm(): number;
};

/** Counts the calls to an engine. @returns the faults, and a function that tells whether a call fails */
export function countedFaults(): { readonly faults: Faults; readonly fails: () => boolean } {
  let armed: { readonly nth: number; readonly lasting: boolean } | undefined;
  let asked = 0;
  return {
    faults: {
      arm(nth, lasting) {
        armed = { nth, lasting };
        asked = 0;
      },
      disarm() {
        armed = undefined;
        return asked;
      },
    },
    fails() {
      if (armed === undefined) return false;
      asked += 1;
      return armed.lasting ? asked >= armed.nth : asked === armed.nth;
    },
  };
}

/** Reads by name. Each resolves to everything that it read. */
type Reads<S> = Readonly<Record<string, (subject: S) => Promise<unknown>>>;

/**
 * "Could not be read" must never look like "there is nothing": a read yields everything or throws, wherever a fault hits it.
 * @param open opens what is read, again for each attempt where an engine would otherwise answer from memory
 */
export async function expectWholeOrThrown<S>(
  read: (subject: S) => Promise<unknown>,
  { open, faults }: { readonly open: () => Promise<S>; readonly faults: Faults },
): Promise<void> {
  faults.arm(Number.POSITIVE_INFINITY, false);
  const all = await read(await open());
  faults.disarm();
  // Otherwise the result could not be distinguished from an empty one.
  expect(all).not.toEqual([]);
  for (const lasting of [false, true]) {
    for (let nth = 1, asked = nth; nth <= asked; nth += 1) {
      const subject = await open();
      faults.arm(nth, lasting);
      const outcome = await read(subject).then(
        (found) => ({ found }),
        (error: unknown) => ({ error }),
      );
      asked = faults.disarm();
      if (asked < nth) break;
      if ('found' in outcome) expect(outcome.found).toEqual(all);
      else expect(outcome.error).toBeInstanceOf(Error);
      // Reading works again afterwards.
      if (lasting) expect(await eventually(() => read(subject))).toEqual(all);
    }
  }
}

type Numbered = { readonly n: number; readonly half: string; readonly text: string };

const COUNT = 1_300;
const keyOf = (n: number): string => String(n).padStart(4, '0');
const numbered = (n: number): Numbered => ({ n, half: n % 2 === 0 ? 'even' : 'odd', text: 'x'.repeat(100) });
const KEYS = Array.from({ length: COUNT }, (_, n) => keyOf(n));

const records: Collection<Numbered> = {
  name: 'numbered',
  kind: 'record',
  indexes: [{ fields: ['half', 'n'] }, { fields: ['n'] }],
};
const readModel: Collection<Numbered> = { ...records, name: 'numbers@1.0', kind: 'readModel' };

/** The documents that {@link documentReads} read. */
export type DocumentSubject = {
  readonly store: OperatedDocumentStore;
  readonly records: Documents<Numbered>;
  readonly readModel: Documents<Numbered>;
};

export async function openDocumentSubject(store: OperatedDocumentStore): Promise<DocumentSubject> {
  return { store, records: await store.open(records), readModel: await store.open(readModel) };
}

/** Longer than a page of either engine in any read. */
export async function fillDocuments({ store, records, readModel }: DocumentSubject): Promise<void> {
  const all = Array.from({ length: COUNT }, (_, n) => n);
  for (let from = 0; from < COUNT; from += 100)
    await Promise.all(all.slice(from, from + 100).map((n) => records.insert(keyOf(n), numbered(n))));
  await readModel.project(all.map((n) => ({ key: keyOf(n), position: keyOf(n), document: numbered(n) })));
  const checkpoint = { position: keyOf(COUNT), events: COUNT, failing: [], after: '' };
  await store.project('abcdef01.1', new Map(), checkpoint);
}

/** Every read of the port `OperatedDocumentStore`. */
export const documentReads: Reads<DocumentSubject> = {
  get: ({ records }) => records.get(keyOf(7)),
  getMany: ({ records }) => records.getMany(KEYS),
  'find, in order': ({ records }) => Array.fromAsync(records.find(ask({ sort: [{ field: 'n' }] }))),
  'find, with a condition': ({ records }) =>
    Array.fromAsync(
      records.find(ask<Numbered>({ where: { half: 'odd' }, sort: [{ field: 'n', direction: 'descending' }] })),
    ),
  'find, up to a limit': ({ records }) => Array.fromAsync(records.find(ask({ limit: 700 }))),
  'find, asked again': async ({ records }) => {
    const few = ask<Numbered>({ where: { half: 'odd' }, limit: 7 });
    await Array.fromAsync(records.find(few));
    return Array.fromAsync(records.find(few));
  },
  'find of a read model': ({ readModel }) => Array.fromAsync(readModel.find(ask())),
  pages: async ({ readModel }) =>
    (await Array.fromAsync(readModel.pages(ask({ sort: [{ field: 'n' }] })))).flat().map((unread) => unread.read()),
  count: ({ records }) => records.count(ask({ where: { half: 'odd' } })),
  projected: ({ readModel }) => readModel.projected(KEYS),
  'open, and find': async ({ store }) => Array.fromAsync((await store.open(records)).find(ask())),
  checkpoints: ({ store }) => store.checkpoints(),
  names: ({ store }) => store.names(),
  collections: ({ store }) => store.collections(),
  room: async ({ store }) => typeof (await store.room()),
  now: async ({ store }) => typeof (await store.now()),
  ping: ({ store }) => store.ping(),
};

const STREAM = 'stream-0';
const TYPE = 'Even';

/** Longer than a page of any read. */
export async function fillLog(events: OperatedEventStore): Promise<void> {
  for (let from = 0; from < COUNT; from += 100) {
    const some = Array.from({ length: 100 }, (_, i) => ({
      type: i % 2 === 0 ? TYPE : 'Odd',
      data: { n: from + i },
      metadata: {},
    }));
    await events.append(STREAM, some, { expectedRevision: from === 0 ? 'none' : from - 1 });
  }
  await events.append('stream-1', [{ type: TYPE, data: {}, metadata: {} }], { expectedRevision: 'none' });
}

/** Every read of the port `OperatedEventStore` that ends. */
export const logReads: Reads<OperatedEventStore> = {
  readStream: (events) => Array.fromAsync(events.readStream(STREAM)),
  'readStream, up to a limit': (events) => Array.fromAsync(events.readStream(STREAM, { limit: 700 })),
  readAll: (events) => Array.fromAsync(events.readAll()),
  'readAll, of a type': (events) => Array.fromAsync(events.readAll({ types: [TYPE] })),
  lastEvent: (events) => events.lastEvent(),
  ping: (events) => events.ping(),
};

/** Reads that never end: they can only signal missing data by continuing until it is there. */
export const endlessLogReads: Reads<OperatedEventStore> = {
  async subscribe(events) {
    const found: unknown[] = [];
    const end = new AbortController();
    for await (const batch of events.subscribe({ types: [TYPE], signal: end.signal })) {
      found.push(...batch.events);
      if (found.length >= COUNT / 2 + 1) end.abort();
    }
    return found;
  },
  async consume(events) {
    const handled = new Map<string, unknown>();
    const all = Promise.withResolvers<void>();
    const consumer = await events.consume(
      `consumed-${++consumed}`,
      // With few at a time, hundreds of reads would fail in turn, each with its pause.
      { types: [TYPE], after: () => LOG_START, concurrency: 100 },
      async (event) => {
        handled.set(event.position, event);
        if (handled.size >= COUNT / 2 + 1) all.resolve();
      },
    );
    await all.promise;
    await consumer.close();
    return [...handled].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, event]) => event);
  },
};
let consumed = 0;
