import type { AnyProjection, Projection, Row } from '../../projections/projection.ts';
import type { DocumentStore, Documents, Query, Stored, Unread } from '../document-store/document-store.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import { type EventStore, LOG_START, logEnd, type Position } from '../event-store/event-store.ts';
import { createEstimate, type Estimate } from '../runtime/estimate.ts';
import { openNews } from '../runtime/news.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import {
  collectionOf,
  idOf,
  isUnreadable,
  openReadModelState,
  type Positions,
  placeOf,
  type ReadModelId,
  type ReadModelState,
  type ReadModelStates,
} from './state.ts';
import { takeBackLost } from './take-back.ts';

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

/** Which read models to wait for, and for how long. */
type WaitFor = {
  /**
   * Those that show events of these types; without types, all. Those of other releases count, too, while somebody looks after
   * them: the next request may go to a process of that release. One that is failing or being built is not waited for, because
   * nothing can be read of it, as soon as every process knows that.
   */
  readonly types?: readonly string[];
  /** These instead, whatever state they are in. */
  readonly projections?: readonly Pick<AnyProjection, 'name'>[];
  /** Default 2,000. */
  readonly timeoutMs?: number;
};

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
   * @returns false if they do not in time; nothing is lost, they only lag (docs/decisions/read-your-writes.md)
   */
  waitFor(position: Position, options?: WaitFor): Promise<boolean>;
};

/** The state of the read models that this process reads, whichever process projects. */
export type ReadModelsStatus = {
  /** Events in the log that some read model does not show yet, counted up to a limit. Those that fail or are built do not count. */
  readonly lag: number;
  /** False while this process, having started or been asleep, still has to see them catch up with the log once. */
  readonly caughtUp: boolean;
  /** The read models that cannot be read, are being built anew, or are looked after by nobody. */
  readonly problems: readonly Problem[];
};

export type Problem = {
  readonly readModel: string;
  /** Whether it can be read: what is being rebuilt, or fails in that, is. */
  readonly readable: boolean;
} & (
  | { readonly state: 'failing'; readonly message: string; readonly attempts: number; readonly event?: string }
  | { readonly state: 'building'; readonly done: number; readonly total?: number; readonly secondsLeft?: number }
  | { readonly state: 'unattended' }
);

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
/** How old they may be, and how long this process may have been silent, when a read relies on them. */
const TRUST_MS = 1_000;
/** Pauses between reads of the positions; the last one repeats. */
const PAUSES_MS = [1, 1, 2, 2, 4, 8, 16, 25] as const;
const WAIT_MS = 2_000;

type Known = { readonly state: ReadModelState; readonly documents?: Documents<Row> };

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
  /** What the threads of this process that share the store call their {@link openNews}. */
  readonly news?: string;
}): Promise<LiveReadModels> {
  const { documents, events, projections, heartbeats, kind = 'service', projects = () => false } = deps;
  const state = await openReadModelState(documents);
  const wants = projections.map(idOf);
  const models = new Map<ReadModelId, Known>();
  /** The read models of other releases that somebody looks after. */
  let others: readonly (readonly [ReadModelId, ReadModelState])[] = [];
  /** Since when this process has known of read models, of any release, that they fail (monotonic). */
  const failingSince = new Map<string, number>();
  /** How many reads of each collection are streaming. */
  const streaming = new Map<string, number>();
  const waiting = new Set<Waiter>();
  /** How fast each collection that is being built gets on. */
  const estimates = new Map<string, Estimate>();
  let version = -1;
  let positions: Positions = { groups: [], states: 0 };
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  /** Where the log ended when this process could first read everything, having started or woken up. */
  let mustReach: Promise<Position> | undefined;
  let closed = false;

  function say(): void {
    const live = [...models.values()].flatMap(({ state }) => state.live ?? []);
    heartbeats.say({ kind, projects: projects(), wants, reads: [...new Set([...live, ...streaming.keys()])] });
  }

  const open = (projection: AnyProjection, name: string): Promise<Documents<Row>> =>
    documents.open(collectionOf(projection, name));

  async function changed(of: number, { models: states }: ReadModelStates): Promise<void> {
    if (of < version) return;
    version = of;
    others = Object.entries(states)
      .map(([id, state]) => [id as ReadModelId, state] as const)
      .filter(([id, { owner }]) => owner !== undefined && !wants.includes(id));
    for (const [id, state] of Object.entries(states)) {
      if (!isUnreadable(state)) failingSince.delete(id);
      else if (!failingSince.has(id)) {
        failingSince.set(id, performance.now());
        setTimeout(settle, TRUST_MS).unref();
      }
    }
    shown.clear();
    let swapped = false;
    for (const projection of projections) {
      const id = idOf(projection);
      const now = states[id] ?? { leaving: [], generation: 0 };
      const before = models.get(id);
      const sameLive = before !== undefined && before.state.live === now.live;
      const opened = sameLive ? before.documents : now.live && (await open(projection, now.live));
      if (version > of) return;
      models.set(id, { state: now, ...(opened && { documents: opened }) });
      shown.clear();
      swapped ||= !sameLive;
    }
    say();
    // The projector keeps the former collection up to date until every process has named the new one.
    if (swapped) heartbeats.beat().catch(() => {});
    settle();
  }

  /** Reads what the projectors have changed. */
  function refresh(): Promise<void> {
    refreshing ??= (async () => {
      const at = performance.now();
      const stored = await state.readStates();
      if (stored.version !== version) await changed(stored.version, stored.document);
      refreshedAt = at;
    })().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  const news =
    deps.news &&
    openNews<Told>(`read models ${deps.news}`, (told) => {
      if ('reached' in told) reached(told.reached);
      else if (told.changed > version) refresh().catch(() => {});
    });

  /** @param asked whether they were read for it, instead of being told by the projector */
  function reached(now: Positions, asked = false): void {
    positions = now;
    shown.clear();
    isTold = !asked;
    polls = 0;
    noteProgress();
    // A read model that has become live elsewhere meanwhile is waited for, too.
    if (now.states <= version) settle();
    // What is being read may have been asked for before the change.
    else
      refresh()
        .then(() => (now.states > version ? refresh() : undefined))
        .then(settle, () => {});
  }

  function noteProgress(): void {
    const building = [...models.values()].flatMap(({ state }) => state.building ?? []);
    for (const collection of estimates.keys()) if (!building.includes(collection)) estimates.delete(collection);
    for (const collection of building) {
      const estimate = estimates.get(collection) ?? createEstimate();
      estimates.set(collection, estimate);
      estimate.note(placeOf(positions, collection).events);
    }
  }

  /** Call whenever the positions or the states have changed. */
  function settle(): void {
    shown.clear();
    for (const waiter of waiting) if (isReached(waiter)) waiter.resolve(true);
  }

  function isReached({ position, which }: Waiter): boolean {
    if (which.projections === undefined) {
      const shown = shownUpTo(which.types);
      return shown === undefined || shown >= position;
    }
    const upTo = readUpTo(which.projections);
    return upTo !== undefined && upTo >= position;
  }

  /** How far read models are that are waited for by name. @returns undefined if one of them cannot be read */
  function readUpTo(waitedFor: readonly Pick<AnyProjection, 'name'>[]): Position | undefined {
    const key = `: ${waitedFor.map(({ name }) => name).join()}`;
    if (shown.has(key)) return shown.get(key);
    const positionsOf = projections.flatMap((projection) => {
      if (!waitedFor.some(({ name }) => name === projection.name)) return [];
      const live = models.get(idOf(projection))?.state.live;
      return [live !== undefined && isReadable(projection) ? placeOf(positions, live).position : undefined];
    });
    const upTo = positionsOf.includes(undefined) ? undefined : positionsOf.sort()[0];
    shown.set(key, upTo);
    return upTo;
  }

  /** How far read models are, by events that they show or by name: under load, many ask at the same position. */
  const shown = new Map<string, Position | undefined>();

  /** @returns undefined if there is none to wait for */
  function shownUpTo(types: readonly string[] | undefined): Position | undefined {
    const key = types?.join() ?? '';
    if (shown.has(key)) return shown.get(key);
    const ours = projections.map((projection) => {
      const id = idOf(projection);
      return { id, live: models.get(id)?.state.live, types: projection.types };
    });
    const theirs = others.map(([id, { live, types }]) => ({ id, live, types }));
    const upTo = [...ours, ...theirs]
      .filter(({ id, types: about }) => !isKnownToFail(id) && isAbout(about, types))
      .flatMap(({ live }) => (live === undefined ? [] : placeOf(positions, live).position))
      .reduce<Position | undefined>((least, each) => (least === undefined || each < least ? each : least), undefined);
    // Whether one is known to fail depends on the time.
    if (failingSince.size === 0) shown.set(key, upTo);
    return upTo;
  }

  /** Whether every process knows that a read model fails. Until then another one may answer from what is stored. */
  function isKnownToFail(id: ReadModelId): boolean {
    const since = failingSince.get(id);
    return since !== undefined && performance.now() - since >= TRUST_MS;
  }

  function isReadable(projection: AnyProjection): boolean {
    const known = models.get(idOf(projection));
    return known?.documents !== undefined && !isFailing(known.state);
  }

  async function isAttended(state: ReadModelState | undefined): Promise<boolean> {
    return state?.owner !== undefined && (await heartbeats.silentFor(state.owner)) < heartbeats.silenceMs;
  }

  /** Whether what the positions are was last told by the projector, which will tell the next ones, too. */
  let isTold = false;
  let polling = false;
  /** Polls without news, since a waiter arrived or the positions changed. */
  let polls = 0;

  /** Polls the positions, with growing pauses, while anyone is waiting. */
  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    while (waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, (isTold ? undefined : PAUSES_MS[polls]) ?? PAUSES_MS.at(-1)));
      polls += 1;
      if (waiting.size === 0) break;
      // If the store does not answer, the wait times out. What the waiter wrote is safe already.
      const now = await state.positions().catch(() => undefined);
      if (now !== undefined && hasMoved(positions, now)) reached(now, true);
    }
    polling = false;
  }

  async function waitFor(position: Position, which: WaitFor = {}): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiter = { position, which, resolve };
    // What this process takes for unreadable may have become readable since it last looked.
    if (isReached(waiter) && !projections.every(isReadable)) await refresh().catch(() => {});
    if (isReached(waiter)) return true;
    const timer = setTimeout(resolve, which.timeoutMs ?? WAIT_MS, false);
    waiting.add(waiter);
    polls = 0;
    poll();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      waiting.delete(waiter);
    }
  }

  /**
   * The documents of a projection, if this process may rely on what it knows. One that was asleep may have missed a swap, and
   * the others do not wait for one that they take for dead.
   */
  function trusted<D extends object>(projection: Projection<D>, id = idOf(projection)): Documents<D> | undefined {
    const known = models.get(id);
    if (known?.documents === undefined || isFailing(known.state)) return undefined;
    if (performance.now() - refreshedAt > TRUST_MS || heartbeats.sinceLastBeat() > TRUST_MS) return undefined;
    // The name implies the type, as it does in the document store.
    return known.documents as Documents<D>;
  }

  async function current<D extends object>(projection: Projection<D>): Promise<Documents<D>> {
    if (trusted(projection) === undefined) await refresh();
    const known = models.get(idOf(projection));
    if (known?.documents === undefined) {
      const told = known?.state.building === undefined ? NOT_THERE : 'is being built';
      throw unreadable(projection, told, (await isAttended(known?.state)) ? undefined : UNATTENDED);
    }
    if (isFailing(known.state)) throw unreadable(projection, 'fails on an event', known.state.failure?.message);
    return known.documents as Documents<D>;
  }

  const caughtUp = new Map<string, Promise<void>>();
  let end: Promise<Position> | undefined;

  async function catchUp<D extends object>(projection: Projection<D>, withinMs: number): Promise<void> {
    end ??= logEnd(events);
    await refresh();
    const failing = () => isFailing(models.get(idOf(projection))?.state);
    const reachedEnd = !failing() && (await waitFor(await end, { projections: [projection], timeoutMs: withinMs }));
    if (reachedEnd) return;
    await current(projection);
    const why = (await isAttended(models.get(idOf(projection))?.state)) ? 'try again' : UNATTENDED;
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
    const name = models.get(id)?.state.live ?? '';
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
        const collection = models.get(id)?.state.live ?? '';
        for await (const rows of streamed(id, () => from.pages(query))) yield { collection, rows };
      },
    };
  }

  await takeBackLost({ documents, events, state });
  await refresh();
  heartbeats.onBeat((silentMs) => {
    if (silentMs >= heartbeats.silenceMs) mustReach = undefined;
  });
  const timer = setInterval(() => {
    refresh().then(say, () => {});
  }, REFRESH_MS);
  timer.unref();

  return {
    collection,
    nameOf: (projection) => models.get(idOf(projection))?.state.live,
    waitFor,
    reached(now) {
      reached(now);
      if (news) news.tell({ reached: now });
    },
    async changed(of, states) {
      if (news && of > version) news.tell({ changed: of });
      await changed(of, states);
    },

    async readable(timeoutMs) {
      const deadline = performance.now() + timeoutMs;
      const areBuilt = () =>
        wants.every((id) => {
          const known = models.get(id);
          return known?.documents !== undefined || isFailing(known?.state);
        });
      while (!closed && !areBuilt() && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        await refresh().catch(() => {});
      }
      return areBuilt();
    },

    async status(limit = 1_001) {
      await refresh();
      // A projector tells how far it is before it stores that.
      const told = positions;
      // Waiters have to learn of it: it will be no news to them the next time.
      reached(await state.positions(), true);
      const problems: Problem[] = [];
      let after: Position | undefined;
      for (const projection of projections) {
        const { state: model } = models.get(idOf(projection)) ?? {};
        const problem = problemOf(projection, model, positions, estimates.get(model?.building ?? ''));
        if (problem !== undefined) problems.push(problem);
        else if (!(await isAttended(model)))
          problems.push({ readModel: projection.name, state: 'unattended', readable: true });
        if (model?.live === undefined || isFailing(model)) continue;
        const [stored, shown] = [placeOf(positions, model.live).position, placeOf(told, model.live).position];
        const position = stored < shown ? shown : stored;
        if (after === undefined || position < after) after = position;
      }
      // Commands in other processes wait for these read models from the moment on at which they can be read: what is in the log
      // by then, they may have answered without.
      if (projections.every(isReadable)) mustReach ??= logEnd(events);
      else mustReach = undefined;
      const must = await mustReach?.catch(() => {
        mustReach = undefined;
        return undefined;
      });
      let lag = 0;
      for await (const _ of events.readAll({ after: after ?? LOG_START, limit })) lag += 1;
      // A process that has just woken up does not know yet what it has missed.
      const isAwake = heartbeats.sinceLastBeat() < heartbeats.silenceMs;
      return { lag, caughtUp: isAwake && must !== undefined && (after ?? LOG_START) >= must, problems };
    },

    async close() {
      closed = true;
      clearInterval(timer);
      if (news) news.close();
      await refreshing?.catch(() => {});
    },
  };
}

/** What a projector tells the other threads: how far it is, or the version of the states that it has changed. */
type Told = { readonly reached: Positions } | { readonly changed: number };

type Waiter = { readonly position: Position; readonly which: WaitFor; readonly resolve: (reached: boolean) => void };

const UNATTENDED = 'no process keeps it up to date, start one with the role projector';
const NOT_THERE = 'has not been built yet in the version that this release needs';

function unreadable({ name }: Pick<AnyProjection, 'name'>, why: string, cause?: string): Unavailable {
  const told = `The read model ${name} ${why}`;
  return new Unavailable(cause === undefined ? told : `${told}: ${cause}`, undefined, told);
}

/** Whether a read model shows any of these types of events. */
const isAbout = (shown: readonly string[] | undefined, types: readonly string[] | undefined): boolean =>
  shown === undefined || types === undefined || types.some((type) => shown.includes(type));

const hasMoved = ({ groups: before, states: statesBefore }: Positions, { groups: now, states }: Positions): boolean =>
  states !== statesBefore ||
  now.length !== before.length ||
  now.some(
    ({ position, collections }, i) =>
      position !== before[i]?.position || collections.length !== before[i]?.collections.length,
  );

const isFailing = (state: ReadModelState | undefined): boolean => state !== undefined && isUnreadable(state);

function problemOf(
  { name }: AnyProjection,
  model: ReadModelState | undefined,
  positions: Positions,
  estimate: Estimate | undefined,
): Problem | undefined {
  if (model?.failure !== undefined) {
    const { message, attempts, event } = model.failure;
    const readable = !isUnreadable(model);
    return { readModel: name, state: 'failing', readable, message, attempts, ...(event && { event: event.id }) };
  }
  if (model?.building === undefined && model?.live !== undefined) return undefined;
  const done = model?.building === undefined ? 0 : placeOf(positions, model.building).events;
  const total = Math.max(0, ...positions.groups.map(({ events }) => events));
  const readable = model?.live !== undefined;
  const secondsLeft = estimate?.secondsLeft(total);
  return {
    ...{ readModel: name, state: 'building', readable, done },
    ...(total > done && { total }),
    ...(secondsLeft !== undefined && { secondsLeft }),
  };
}
