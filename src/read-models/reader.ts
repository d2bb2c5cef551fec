import type { AnyProjection, Projection } from '../../projections/projection.ts';
import type { Documents, Query, Unread } from '../document-store/document-store.ts';
import { type EventStore, logEnd } from '../event-store/event-store.ts';
import { inPages } from '../runtime/in-pages.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import type { CheckpointWatch } from './await-checkpoint.ts';
import { idOf, isUnreadable, type ReadModelId } from './catalogue.ts';
import { type KnownCatalogue, TRUST_MS } from './known-catalogue.ts';
import type { StartGate } from './start-gate.ts';

/** The read operations of a read model. */
export type ReadModel<D extends object> = Pick<Documents<D>, 'get' | 'getMany' | 'find' | 'count' | 'groups'> & {
  pages(query: Query<D>): AsyncIterable<Page<D>>;
};

/** A page of a long list, with its collection: key and version identify a document only within one collection. */
export type Page<D extends object> = { readonly collection: string; readonly rows: readonly Unread<D>[] };

/** A read refreshes the catalogue once it is older than this. */
const REFRESH_MS = 500;
/** Documents of a list between two checks of its collection. */
const PAGE = 256;

/**
 * Reads the live collections of projections. Follows swaps after a rebuild.
 * @param deps.catchUpWithinMs how long the first read of each read model waits until it has caught up with the log, in milliseconds
 * @returns the read model of a projection
 */
export function createReader(deps: {
  readonly events: Pick<EventStore, 'lastEvent'>;
  readonly known: KnownCatalogue;
  readonly checkpoints: Pick<CheckpointWatch, 'waitFor'>;
  readonly gate: StartGate;
  /** Whether a process keeps the read models up to date. */
  readonly isAttended: () => Promise<boolean>;
  readonly catchUpWithinMs: number | undefined;
}) {
  const { events, known, checkpoints, gate, isAttended, catchUpWithinMs } = deps;

  /** The documents of a projection, if the known catalogue is recent. A suspended process may have missed a swap. */
  function trusted<D extends object>(projection: Projection<D>, id = idOf(projection)): Documents<D> | undefined {
    const model = known.get(id);
    if (model?.documents === undefined || isUnreadable(model.entry)) return undefined;
    const age = performance.now() - known.refreshedAt();
    if (age > TRUST_MS) return undefined;
    // In the background, so that reads in quick succession never wait for the catalogue.
    if (age > REFRESH_MS) known.refresh().catch(() => {});
    // The name implies the type, as it does in the document store.
    return model.documents as Documents<D>;
  }

  async function current<D extends object>(projection: Projection<D>): Promise<Documents<D>> {
    if (trusted(projection) === undefined) await known.refresh();
    const model = known.get(idOf(projection));
    if (model?.documents === undefined) {
      const reason = model?.entry.building === undefined ? NOT_BUILT : 'is being built';
      throw unreadable(projection, reason, (await isAttended()) ? undefined : UNATTENDED);
    }
    if (isUnreadable(model.entry)) throw unreadable(projection, 'fails on an event', model.entry.failure?.message);
    return model.documents as Documents<D>;
  }

  const caughtUp = new Map<string, Promise<void>>();

  /** Waits for the end of the log as of now, because a command may have appended since it read another read model. */
  async function catchUp<D extends object>(projection: Projection<D>, timeoutMs: number): Promise<void> {
    const end = await logEnd(events);
    await known.refresh();
    const { entry } = known.get(idOf(projection)) ?? {};
    const isFailing = entry !== undefined && isUnreadable(entry);
    if (!isFailing && (await checkpoints.waitFor(end, { projections: [projection], timeoutMs }))) return;
    await current(projection);
    const reason = (await isAttended()) ? 'try again' : UNATTENDED;
    throw new Unavailable(
      `The read model ${projection.name} did not catch up with the log within ${timeoutMs / 1_000} s: ${reason}.`,
    );
  }

  /** @throws {Unavailable} if it has not caught up with the log since this process started */
  async function passGate<D extends object>(projection: Projection<D>): Promise<void> {
    await gate.check().catch(() => {});
    if (gate.isOpen(idOf(projection))) return;
    // It may not be built yet.
    await current(projection);
    throw unreadable(projection, CATCHING_UP, (await isAttended()) ? undefined : UNATTENDED);
  }

  /** The current collection of a projection. */
  async function source<D extends object>(projection: Projection<D>, id?: ReadModelId): Promise<Documents<D>> {
    if (catchUpWithinMs === undefined) {
      if (!gate.isOpen(id ?? idOf(projection))) await passGate(projection);
      return trusted(projection, id) ?? current(projection);
    }
    const waiting = caughtUp.get(projection.name) ?? catchUp(projection, catchUpWithinMs);
    caughtUp.set(projection.name, waiting);
    await waiting;
    return current(projection);
  }

  /**
   * Checks that the collection was still valid after a read. After a swap, a collection is kept up to date for longer than this
   * process may consider it live, and it leaves the catalogue before it is dropped.
   */
  async function checkWhole<D extends object>(projection: Projection<D>, from: Documents<D>, name: string) {
    if (trusted(projection) === from) return;
    await known.refresh();
    const { entry } = known.get(idOf(projection)) ?? {};
    if (entry?.live === name || entry?.retiring.includes(name)) return;
    throw unreadable(projection, 'was rebuilt while it was being read');
  }

  async function once<D extends object, R>(
    projection: Projection<D>,
    id: ReadModelId,
    read: (from: Documents<D>) => Promise<R>,
  ): Promise<R> {
    const from = await source(projection, id);
    const result = await read(from);
    if (trusted(projection, id) !== from) await checkWhole(projection, from, known.get(id)?.entry.live ?? '');
    return result;
  }

  /** Pages of a list. If the collection leaves the catalogue, discards the page and aborts the response. */
  async function* pagesOf<D extends object, T>(
    projection: Projection<D>,
    read: (from: Documents<D>) => AsyncIterable<readonly T[]>,
  ): AsyncGenerator<{ readonly collection: string; readonly rows: readonly T[] }> {
    const id = idOf(projection);
    const from = await source(projection, id);
    const collection = known.get(id)?.entry.live ?? '';
    for await (const rows of read(from)) {
      await checkWhole(projection, from, collection);
      yield { collection, rows };
    }
    await checkWhole(projection, from, collection);
  }

  return <D extends object>(projection: Projection<D>): ReadModel<D> => {
    const id = idOf(projection);
    return {
      get: (key) => once(projection, id, (from) => from.get(key)),
      getMany: (keys) => once(projection, id, (from) => from.getMany(keys)),
      count: (query) => once(projection, id, (from) => from.count(query)),
      groups: (query, by, sums) => once(projection, id, (from) => from.groups(query, by, sums)),
      async *find(query) {
        for await (const { rows } of pagesOf(projection, (from) => inPages(from.find(query), PAGE))) yield* rows;
      },
      pages: (query) => pagesOf(projection, (from) => from.pages(query)),
    };
  };
}

const UNATTENDED = 'no process keeps it up to date, start one with the role projector';
const CATCHING_UP = 'has not caught up with the log since this process started';
const NOT_BUILT = 'has not been built yet in the version that this release needs';

function unreadable({ name }: Pick<AnyProjection, 'name'>, why: string, cause?: string): Unavailable {
  const message = `The read model ${name} ${why}`;
  return new Unavailable(cause === undefined ? message : `${message}: ${cause}`, undefined, message);
}
