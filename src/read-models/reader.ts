import type { Projection } from '../../projections/projection.ts';
import type { Documents, Query, Unread } from '../document-store/document-store.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { type EventStore, logEnd } from '../event-store/event-store.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { type CurrentGeneration, TRUST_MS } from './current-generation.ts';
import type { GenerationId } from './generations.ts';

/** The read operations of a read model. See `Documents`, except that they give the documents alone. */
export type ReadModel<D extends object> = Pick<Documents<D>, 'count' | 'groups'> & {
  get(key: string): Promise<D | undefined>;
  /** Those that exist, by key. */
  getMany(keys: readonly string[]): Promise<ReadonlyMap<string, D>>;
  find(query: Query<D>): AsyncIterable<D>;
  /** All that `find` finds. */
  list(query: Query<D>): Promise<D[]>;
  pages(query: Query<D>): AsyncIterable<Page<D>>;
};

/** A page of a long list, with its collection: key and version identify a document only within one collection. */
export type Page<D extends object> = { readonly collection: string; readonly rows: readonly Unread<D>[] };

/** A read refreshes the view once it is older than this. */
const REFRESH_MS = 500;
/** Documents of a list between two checks of its collection. */
const PAGE = 256;

/** Where a read model is read. */
type Source<D extends object> = { readonly id: GenerationId; readonly documents: Documents<D> };

/**
 * Reads the live generation. Follows swaps after a rebuild.
 * @param deps.catchUpWithinMs how long the first read of each read model waits until it has caught up with the log, in milliseconds
 * @returns the read model of a projection
 */
export function createReader(deps: {
  readonly events: Pick<EventStore, 'lastEvent'>;
  readonly current: CurrentGeneration;
  /** Whether the live generation has passed the end of the log as it was when this process started. */
  readonly hasCaughtUp: () => boolean;
  readonly checkCaughtUp: () => Promise<void>;
  /** Whether a process keeps the read models up to date. */
  readonly isAttended: () => Promise<boolean>;
  readonly catchUpWithinMs: number | undefined;
}) {
  const { events, current, hasCaughtUp, checkCaughtUp, isAttended, catchUpWithinMs } = deps;

  const unattended = async () => ((await isAttended()) ? undefined : UNATTENDED);

  /** The live collection of a projection, by this process's view; undefined if there is none that can be read. */
  function readable<D extends object>({ name }: Projection<D>): Source<D> | undefined {
    const live = current.live();
    const documents = live?.collections.get(name);
    if (live === undefined || documents === undefined) return undefined;
    if (live.checkpoint.failing.some((each) => each.name === name)) return undefined;
    if (catchUpWithinMs === undefined && !hasCaughtUp()) return undefined;
    // The name implies the type, as it does in the document store.
    return { id: live.id, documents: documents as Documents<D> };
  }

  /** Whether the view may be used without reading it again: a suspended process may have missed a swap. */
  function isTrusted(): boolean {
    const age = current.age();
    // In the background, so that reads in quick succession never wait for it.
    if (age > REFRESH_MS && age <= TRUST_MS) current.refresh().catch(() => {});
    return age <= TRUST_MS;
  }

  async function source<D extends object>(projection: Projection<D>): Promise<Source<D>> {
    if (!isTrusted() || current.live() === undefined) await current.refresh();
    if (catchUpWithinMs === undefined && !hasCaughtUp()) await checkCaughtUp().catch(() => {});
    const found = readable(projection);
    if (found === undefined) throw await problem(projection.name);
    return found;
  }

  /** Why a read model cannot be read. */
  async function problem(name: string): Promise<Unavailable> {
    const live = current.live();
    if (live?.collections.get(name) === undefined) {
      const isBuilding = current.building() !== undefined;
      return unreadable(name, isBuilding ? 'is being built' : NOT_BUILT, await unattended());
    }
    const failing = live.checkpoint.failing.find((each) => each.name === name);
    if (failing !== undefined) return unreadable(name, 'fails on an event', failing.message);
    return unreadable(name, CATCHING_UP, await unattended());
  }

  const caughtUp = new Map<string, Promise<void>>();

  /** Waits for the end of the log as of now, because a command may have appended since it read another read model. */
  async function catchUp<D extends object>(projection: Projection<D>, timeoutMs: number): Promise<void> {
    const end = await logEnd(events);
    await current.refresh();
    const isFailing = current.live()?.checkpoint.failing.some(({ name }) => name === projection.name) ?? false;
    if (!isFailing && (await current.waitFor(end, { projections: [projection], timeoutMs }))) return;
    await source(projection);
    throw new Unavailable(
      `The read model ${projection.name} did not catch up with the log within ${timeoutMs / 1_000} s: ${(await unattended()) ?? 'try again'}.`,
    );
  }

  async function open<D extends object>(projection: Projection<D>): Promise<Source<D>> {
    if (catchUpWithinMs !== undefined) {
      const waiting = caughtUp.get(projection.name) ?? catchUp(projection, catchUpWithinMs);
      caughtUp.set(projection.name, waiting);
      await waiting;
    }
    return source(projection);
  }

  /**
   * Reads from a collection that was whole to the end: a replaced generation is kept up to date for longer than this process may consider it
   * live, and it leaves the catalogue before it is dropped. Most reads find a view that is fresh, and wait for nothing but the documents.
   */
  async function once<D extends object, R>(
    projection: Projection<D>,
    read: (from: Documents<D>) => Promise<R>,
  ): Promise<R> {
    for (;;) {
      const known = catchUpWithinMs === undefined && isTrusted() ? readable(projection) : undefined;
      const from = known ?? (await open(projection));
      const result = await read(from.documents);
      if (!isTrusted()) await current.refresh();
      if (current.has(from.id)) return result;
    }
  }

  /** Pages of a list. If its generation leaves the catalogue, discards the page and aborts the response. */
  async function* pagesOf<D extends object, T>(
    projection: Projection<D>,
    read: (from: Documents<D>) => AsyncIterable<readonly T[]>,
  ): AsyncGenerator<{ readonly collection: string; readonly rows: readonly T[] }> {
    const from = await open(projection);
    const checkWhole = async () => {
      if (!isTrusted()) await current.refresh();
      if (!current.has(from.id)) throw unreadable(projection.name, 'was rebuilt while it was being read');
    };
    for await (const rows of read(from.documents)) {
      await checkWhole();
      yield { collection: `${from.id}.${projection.name}`, rows };
    }
    await checkWhole();
  }

  return <D extends object>(projection: Projection<D>): ReadModel<D> => {
    async function* find(query: Query<D>): AsyncGenerator<D> {
      for await (const { rows } of pagesOf(projection, (from) => inPages(from.find(query), PAGE)))
        for (const { document } of rows) yield document;
    }

    return {
      get: async (key) => (await once(projection, (from) => from.get(key)))?.document,
      async getMany(keys) {
        const stored = await once(projection, (from) => from.getMany(keys));
        return new Map(stored.map(({ key, document }) => [key, document]));
      },
      count: (query, atMost) => once(projection, (from) => from.count(query, atMost)),
      groups: (query, by, sums) => once(projection, (from) => from.groups(query, by, sums)),
      find,
      list: (query) => Array.fromAsync(find(query)),
      pages: (query) => pagesOf(projection, (from) => from.pages(query)),
    };
  };
}

const UNATTENDED = 'no process keeps it up to date, start one with the role projector';
const CATCHING_UP = 'has not caught up with the log since this process started';
const NOT_BUILT = 'has not been built yet in the version that this release needs';

function unreadable(name: string, why: string, cause?: string): Unavailable {
  const message = `The read model ${name} ${why}`;
  return new Unavailable(cause === undefined ? message : `${message}: ${cause}`, undefined, message);
}
