import type { AnyProjection, Projection } from '../../projections/projection.ts';
import type { Documents, OperatedDocumentStore, Query, Stored, Unread } from '../document-store/document-store.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import { type Leases, openLeases } from '../document-store/lease.ts';
import { type EventStore, logEnd, type Position } from '../event-store/event-store.ts';
import { inPages } from '../runtime/in-pages.ts';
import type { Link } from '../runtime/link.ts';
import { inRounds } from '../runtime/rounds.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { type Progress, type WaitFor, watchCheckpoints } from './await-checkpoint.ts';
import {
  type Catalogue,
  idOf,
  isUnreadable,
  leaseOf,
  openCatalogue,
  READ_MODEL_LEASES,
  type ReadModelId,
} from './catalogue.ts';
import { createKnownCatalogue, TRUST_MS } from './known-catalogue.ts';
import type { NodeStatus } from './node-status.ts';
import { createStartGate } from './start-gate.ts';
import { createStatus, type ReadModelsStatus } from './status.ts';

/** The read operations of a read model. */
type ReadModel<D extends object> = Pick<Documents<D>, 'get' | 'getMany' | 'find' | 'count'> & {
  pages(query: Query<D>): AsyncIterable<Page<D>>;
};

/** A page of a long list, with its collection: key and version identify a document only within one collection. */
export type Page<D extends object> = { readonly collection: string; readonly rows: readonly Unread<D>[] };

export type ReadModels = {
  /**
   * The documents of a projection. Follows swaps after a rebuild, in every process. Reads throw {@link Unavailable} during the
   * first build or a failure, so an unreadable model never looks empty.
   */
  collection<D extends object>(projection: Projection<D>): ReadModel<D>;
  /** The name of the live collection of a projection. A rebuild, which may repair documents without an event, changes it. */
  nameOf(projection: Pick<AnyProjection, 'name' | 'version'>): string | undefined;
  /**
   * Waits until read models show everything up to `position`. Another process may project them.
   * @returns false if they do not in time. Nothing is lost; they only lag (docs/decisions/read-models.md)
   */
  waitFor(position: Position, options?: WaitFor): Promise<boolean>;
};

export type LiveReadModels = ReadModels & {
  /** @param limit at which counting the lag stops, default 1,001 */
  status(limit?: number): Promise<ReadModelsStatus>;
  /** Resolves once every read model has been built and has caught up with the log. @returns false if that takes longer than `timeoutMs` */
  readable(timeoutMs: number): Promise<boolean>;
  /** Called by a projector in this process, so that waiting callers need not poll. */
  reached(progress: Progress): void;
  /** Called by a projector in this process when it has changed the catalogue. */
  changed(catalogue: Pick<Stored<Catalogue>, 'version' | 'document'>): Promise<void>;
  close(): Promise<void>;
};

/** A read refreshes the catalogue once it is older than this. */
const REFRESH_MS = 500;
/** How often to check whether the read models have caught up after a start. */
const CHECK_START_MS = 500;
/** Documents of a list between two checks of its collection. */
const PAGE = 256;

/** The leases of the processes that keep read models up to date. */
export const openReadModelLeases = (deps: {
  readonly documents: OperatedDocumentStore;
  readonly heartbeats: Heartbeats<NodeStatus>;
}): Promise<Leases> =>
  openLeases({
    documents: deps.documents,
    heartbeats: deps.heartbeats,
    collection: READ_MODEL_LEASES,
    durationMs: deps.heartbeats.silenceMs,
    clock: Date.now,
  });

/** Opens the read models of this release for reading, in any process. */
export async function openReadModels(deps: {
  readonly documents: OperatedDocumentStore;
  readonly events: Pick<EventStore, 'readAll'>;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly kind?: NodeStatus['kind'];
  /**
   * Makes the first read of each read model wait up to so many milliseconds until it has caught up with the log. For short-lived
   * processes such as the command line.
   */
  readonly catchUpWithinMs?: number;
  /** Connects the projecting thread and the main thread. */
  readonly link?: Link | undefined;
}): Promise<LiveReadModels> {
  const { documents, events, projections, heartbeats, kind = 'service', catchUpWithinMs } = deps;
  const wants = projections.map(idOf);
  heartbeats.announce({ kind, projects: false, wants });
  const leases = await openReadModelLeases({ documents, heartbeats });
  const catalogue = await openCatalogue(documents);
  const onChange = () => checkpoints.settle();
  const known = createKnownCatalogue({ documents, projections, catalogue, heartbeats, onChange });
  const checkpoints = watchCheckpoints({ projections, known, documents });
  const gate = createStartGate({ events, projections, heartbeats, known, checkpoints });
  const closing = new AbortController();
  const topic = deps.link?.open<ProjectorMessage>('read models', (message) => {
    if ('reached' in message) checkpoints.reached(message.reached);
    else if (message.changed > known.version()) known.refresh().catch(() => {});
  });

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
      throw unreadable(projection, reason, (await isAttended(projection)) ? undefined : UNATTENDED);
    }
    if (isUnreadable(model.entry)) throw unreadable(projection, 'fails on an event', model.entry.failure?.message);
    return model.documents as Documents<D>;
  }

  const isAttended = (projection: Pick<AnyProjection, 'name' | 'version'>): Promise<boolean> =>
    leases.isHeld(leaseOf(idOf(projection)));

  const caughtUp = new Map<string, Promise<void>>();
  let end: Promise<Position> | undefined;

  async function catchUp<D extends object>(projection: Projection<D>, timeoutMs: number): Promise<void> {
    end ??= logEnd(events);
    await known.refresh();
    const { entry } = known.get(idOf(projection)) ?? {};
    const isFailing = entry !== undefined && isUnreadable(entry);
    if (!isFailing && (await checkpoints.waitFor(await end, { projections: [projection], timeoutMs }))) return;
    await current(projection);
    const reason = (await isAttended(projection)) ? 'try again' : UNATTENDED;
    throw new Unavailable(
      `The read model ${projection.name} did not catch up with the log within ${timeoutMs / 1_000} s: ${reason}.`,
    );
  }

  /** @throws {Unavailable} if it has not caught up with the log since this process started */
  async function passGate<D extends object>(projection: Projection<D>): Promise<void> {
    await gate.look().catch(() => {});
    if (gate.isOpen(idOf(projection))) return;
    // It may not be built yet.
    await current(projection);
    throw unreadable(projection, CATCHING_UP, (await isAttended(projection)) ? undefined : UNATTENDED);
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

  function collection<D extends object>(projection: Projection<D>): ReadModel<D> {
    const id = idOf(projection);
    return {
      get: (key) => once(projection, id, (from) => from.get(key)),
      getMany: (keys) => once(projection, id, (from) => from.getMany(keys)),
      count: (query) => once(projection, id, (from) => from.count(query)),
      async *find(query) {
        for await (const { rows } of pagesOf(projection, (from) => inPages(from.find(query), PAGE))) yield* rows;
      },
      pages: (query) => pagesOf(projection, (from) => from.pages(query)),
    };
  }

  await known.refresh();
  const starting = new AbortController();
  void inRounds(CHECK_START_MS, AbortSignal.any([starting.signal, closing.signal]), async () => {
    await gate.look().catch(() => {});
    if (gate.areAllOpen()) starting.abort();
  });

  return {
    collection,
    nameOf: (projection) => known.get(idOf(projection))?.entry.live,
    waitFor: checkpoints.waitFor,
    reached(progress) {
      checkpoints.reached(progress);
      topic?.send({ reached: progress });
    },
    async changed(next) {
      if (next.version > known.version()) topic?.send({ changed: next.version });
      await known.changed(next);
    },

    async readable(timeoutMs) {
      const deadline = performance.now() + timeoutMs;
      const areReadable = () =>
        wants.every((id) => {
          const model = known.get(id);
          return gate.isOpen(id) || (model !== undefined && isUnreadable(model.entry));
        });
      while (!closing.signal.aborted && !areReadable() && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        await gate.look().catch(() => {});
      }
      return areReadable();
    },

    status: createStatus({ events, projections, heartbeats, leases, known, checkpoints, gate }),

    async close() {
      closing.abort();
      topic?.close();
      await known.settled();
    },
  };
}

/** A projector's message to the other threads: its progress, or the version of a changed catalogue. */
type ProjectorMessage = { readonly reached: Progress } | { readonly changed: number };

const UNATTENDED = 'no process keeps it up to date, start one with the role projector';
const CATCHING_UP = 'has not caught up with the log since this process started';
const NOT_BUILT = 'has not been built yet in the version that this release needs';

function unreadable({ name }: Pick<AnyProjection, 'name'>, why: string, cause?: string): Unavailable {
  const message = `The read model ${name} ${why}`;
  return new Unavailable(cause === undefined ? message : `${message}: ${cause}`, undefined, message);
}
