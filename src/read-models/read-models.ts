import type { AnyProjection, Projection } from '../../projections/projection.ts';
import type { DocumentStore, Documents, Query, Stored, Unread } from '../document-store/document-store.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import { type EventStore, logEnd, type Position } from '../event-store/event-store.ts';
import type { Link } from '../runtime/link.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { createKnownModels, isFailing, type KnownModels, TRUST_MS } from './known-models.ts';
import { idOf, openReadModelState, type Positions, type ReadModelId, type ReadModelStates } from './state.ts';
import { createProgress, createStatus, isAttended, type ReadModelsStatus } from './status.ts';
import { takeBackLost } from './take-back.ts';
import { createWaiting, type WaitFor } from './waiting.ts';

/** What readers may do with a read model: everything but write. */
type ReadModel<D extends object> = Pick<Documents<D>, 'get' | 'getMany' | 'find' | 'count'> & {
  pages(query: Query<D>): AsyncIterable<Page<D>>;
  /**
   * How to get a document by its key now, without a promise: for what is on the path of every request. Undefined if only `get` can
   * tell, because the engine has to be asked, or because this process has to look first whether it may read at all.
   */
  now(): Documents<D>['getNow'];
  /** What `find` would return, if that is known without asking the engine; undefined if only `find` can tell. */
  foundNow(query: Query<D>): readonly Stored<D>[] | undefined;
};

/** A part of a long list, and the collection that it was read from: a key and a version say which document it is only within one. */
export type Page<D extends object> = { readonly collection: string; readonly rows: readonly Unread<D>[] };

export type ReadModels = {
  /**
   * The documents of a projection. Follows swaps after a rebuild, in every process.
   * Reading throws {@link Unavailable} while it is being built for the first time or failing: "cannot be read" never looks like
   * "there is nothing".
   */
  collection<D extends object>(projection: Projection<D>): ReadModel<D>;
  /** The name of the collection that is read of a projection. A rebuild, which may mend documents without an event, changes it. */
  nameOf(projection: Pick<AnyProjection, 'name' | 'version'>): string | undefined;
  /**
   * Waits until read models show everything up to `position`, whichever process projects.
   * @returns false if they do not in time; nothing is lost, they only lag (docs/decisions/read-models.md)
   */
  waitFor(position: Position, options?: WaitFor): Promise<boolean>;
};

/** What a process tells the others about its read models with every heartbeat. */
export type Said = {
  /** A `tool`, such as the command line, steps back for services. */
  readonly kind: 'service' | 'tool';
  /** Whether it keeps read models up to date. */
  readonly projects: boolean;
  /** The read models that it knows. */
  readonly wants: readonly ReadModelId[];
  /** The collections that it reads. */
  readonly reads: readonly string[];
};

export type LiveReadModels = ReadModels & {
  /** @param limit at which counting the lag stops, default 1,001 */
  status(limit?: number): Promise<ReadModelsStatus>;
  /** Resolves once every read model has been built. @returns false if that takes longer than `timeoutMs` */
  readable(timeoutMs: number): Promise<boolean>;
  /** Called by a projector in this process, so that waiters need not poll. */
  reached(positions: Positions): void;
  /** Called by a projector in this process when it has changed the states. */
  changed(version: number, states: ReadModelStates): Promise<void>;
  close(): Promise<void>;
};

/** How often the states are read. */
const REFRESH_MS = 500;

/** Opens the read models of this release for reading, in any process. */
export async function openReadModels(deps: {
  readonly documents: DocumentStore;
  readonly events: Pick<EventStore, 'readAll'>;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<Said>;
  readonly kind?: Said['kind'];
  readonly projects?: () => boolean;
  /**
   * Makes the first read of each read model wait, for so many milliseconds, until it shows everything that was in the log then.
   * For processes that come and go, such as the command line.
   */
  readonly catchUpWithinMs?: number;
  /** Between the thread that projects and the one that answers requests. */
  readonly link?: Link | undefined;
}): Promise<LiveReadModels> {
  const { documents, events, projections, heartbeats, kind = 'service', projects = () => false } = deps;
  const state = await openReadModelState(documents);
  const wants = projections.map(idOf);
  /** How many reads of each collection are streaming. */
  const streaming = new Map<string, number>();
  let closed = false;

  const known: KnownModels = createKnownModels({
    ...{ documents, projections, state },
    onChange(swapped) {
      say();
      // The projector keeps the former collection up to date until every process has named the new one.
      if (swapped) heartbeats.beat().catch(() => {});
      waiting.settle();
    },
  });
  const progress = createProgress(known);
  const waiting = createWaiting({ projections, known, state, onReached: progress.note });
  const { waitFor } = waiting;
  const news = deps.link?.open<Told>('read models', (told) => {
    if ('reached' in told) waiting.reached(told.reached);
    else if (told.changed > known.version()) known.refresh().catch(() => {});
  });

  function say(): void {
    const live = Array.from(known.all(), ({ state }) => state.live).filter((name) => name !== undefined);
    heartbeats.say({ kind, projects: projects(), wants, reads: [...new Set([...live, ...streaming.keys()])] });
  }

  /**
   * The documents of a projection, if this process may rely on what it knows. One that was asleep may have missed a swap, and
   * the others do not wait for one that they take for dead.
   */
  function trusted<D extends object>(projection: Projection<D>, id = idOf(projection)): Documents<D> | undefined {
    const model = known.get(id);
    if (model?.documents === undefined || isFailing(model.state)) return undefined;
    if (performance.now() - known.refreshedAt() > TRUST_MS || heartbeats.sinceLastBeat() > TRUST_MS) return undefined;
    // The name implies the type, as it does in the document store.
    return model.documents as Documents<D>;
  }

  async function current<D extends object>(projection: Projection<D>): Promise<Documents<D>> {
    if (trusted(projection) === undefined) await known.refresh();
    const model = known.get(idOf(projection));
    if (model?.documents === undefined) {
      const told = model?.state.building === undefined ? NOT_THERE : 'is being built';
      throw unreadable(projection, told, (await isAttended(model?.state, heartbeats)) ? undefined : UNATTENDED);
    }
    if (isFailing(model.state)) throw unreadable(projection, 'fails on an event', model.state.failure?.message);
    return model.documents as Documents<D>;
  }

  const caughtUp = new Map<string, Promise<void>>();
  let end: Promise<Position> | undefined;

  async function catchUp<D extends object>(projection: Projection<D>, withinMs: number): Promise<void> {
    end ??= logEnd(events);
    await known.refresh();
    const failing = () => isFailing(known.get(idOf(projection))?.state);
    const reachedEnd = !failing() && (await waitFor(await end, { projections: [projection], timeoutMs: withinMs }));
    if (reachedEnd) return;
    await current(projection);
    const why = (await isAttended(known.get(idOf(projection))?.state, heartbeats)) ? 'try again' : UNATTENDED;
    throw new Unavailable(
      `The read model ${projection.name} did not catch up with the log within ${withinMs / 1_000} s: ${why}.`,
    );
  }

  /** What to read a projection from now. Without a promise, if it can be helped: this is on the path of every request. */
  function source<D extends object>(projection: Projection<D>, id?: ReadModelId): Documents<D> | Promise<Documents<D>> {
    if (deps.catchUpWithinMs !== undefined) {
      const waiting = caughtUp.get(projection.name) ?? catchUp(projection, deps.catchUpWithinMs);
      caughtUp.set(projection.name, waiting);
      return waiting.then(() => current(projection));
    }
    return trusted(projection, id) ?? current(projection);
  }

  /** Says with each heartbeat what is being streamed, so that it is not dropped meanwhile. */
  async function* streamed<T>(id: ReadModelId, items: () => AsyncIterable<T>): AsyncGenerator<T> {
    const name = known.get(id)?.state.live ?? '';
    streaming.set(name, (streaming.get(name) ?? 0) + 1);
    try {
      yield* items();
    } finally {
      const others = (streaming.get(name) ?? 1) - 1;
      if (others > 0) streaming.set(name, others);
      else streaming.delete(name);
    }
  }

  function collection<D extends object>(projection: Projection<D>): ReadModel<D> {
    const id = idOf(projection);
    return {
      get(key) {
        const from = source(projection, id);
        return from instanceof Promise ? from.then((documents) => documents.get(key)) : from.get(key);
      },
      now: () => (deps.catchUpWithinMs === undefined ? trusted(projection, id)?.getNow : undefined),
      foundNow: (query) =>
        deps.catchUpWithinMs === undefined ? trusted(projection, id)?.foundNow?.(query) : undefined,
      getMany: async (keys) => (await source(projection)).getMany(keys),
      count: async (query) => (await source(projection)).count(query),
      async *find(query) {
        const from = await source(projection, id);
        yield* streamed(id, () => from.find(query));
      },
      async *pages(query) {
        const from = await source(projection, id);
        const collection = known.get(id)?.state.live ?? '';
        for await (const rows of streamed(id, () => from.pages(query))) yield { collection, rows };
      },
    };
  }

  await takeBackLost({ documents, events, state });
  await known.refresh();
  const timer = setInterval(() => {
    known.refresh().then(say, () => {});
  }, REFRESH_MS);
  timer.unref();

  return {
    collection,
    nameOf: (projection) => known.get(idOf(projection))?.state.live,
    waitFor,
    reached(now) {
      waiting.reached(now);
      news?.tell({ reached: now });
    },
    async changed(of, states) {
      if (of > known.version()) news?.tell({ changed: of });
      await known.changed(of, states);
    },

    async readable(timeoutMs) {
      const deadline = performance.now() + timeoutMs;
      const areBuilt = () =>
        wants.every((id) => {
          const model = known.get(id);
          return model?.documents !== undefined || isFailing(model?.state);
        });
      while (!closed && !areBuilt() && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        await known.refresh().catch(() => {});
      }
      return areBuilt();
    },

    status: createStatus({ events, projections, heartbeats, state, known, waiting, progress }),

    async close() {
      closed = true;
      clearInterval(timer);
      news?.close();
      await known.settled();
    },
  };
}

/** What a projector tells the other threads: how far it is, or the version of the states that it has changed. */
type Told = { readonly reached: Positions } | { readonly changed: number };

const UNATTENDED = 'no process keeps it up to date, start one with the role projector';
const NOT_THERE = 'has not been built yet in the version that this release needs';

function unreadable({ name }: Pick<AnyProjection, 'name'>, why: string, cause?: string): Unavailable {
  const told = `The read model ${name} ${why}`;
  return new Unavailable(cause === undefined ? told : `${told}: ${cause}`, undefined, told);
}
