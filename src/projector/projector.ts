import { setTimeout as delay } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import type { DocumentStore, Documents, Stored } from '../document-store/document-store.ts';
import { type Lease, openLeases } from '../document-store/lease.ts';
import { defined } from '../domain/defined.ts';
import type { Recorded } from '../domain/events.ts';
import { upcast } from '../domain/upcast.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import {
  type Build,
  type Checkpoint,
  collectionOf,
  nextGeneration,
  openProjectorState,
  type ProjectorFailure,
  type ProjectorState,
  put,
  SINGLETON_KEY,
} from '../read-models/projector-state.ts';
import {
  type LiveReadModels,
  openReadModels,
  type ReadModels,
  type ReadModelsStatus,
} from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import { createTarget, fold, type Target } from './fold.ts';

export type ProjectorDeps = {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
  /** How long a collection is kept after it was swapped out, in milliseconds. Default one minute. */
  readonly graceMs?: number;
  /** How long the lease is valid without renewal, in milliseconds. Default 3 s. */
  readonly leaseMs?: number;
  /** How often to check what to build or drop, and the lease while waiting for it, in milliseconds. Default 250. */
  readonly tickMs?: number;
};

export type Projector = {
  /** Usable whether or not this process projects. */
  readonly readModels: ReadModels;
  /** The lag (counted up to `limit`, default 1,001), any failure and any build in progress, whichever process projects. */
  status(limit?: number): Promise<ReadModelsStatus>;
  /**
   * Keeps the read models up to date: waits for the lease, folds the live collections in one pass, and builds new, changed or
   * requested ones beside them. Never gives up: failures are logged, shown in the status and retried.
   */
  start(): void;
  /** Stops after the current batch and lets another process take over at once. */
  stop(): Promise<void>;
};

const LEASE_MS = 3_000;
const TICK_MS = 250;
/** Events that a build folds in one go. More would be faster but block the process for longer. */
const BUILD_BATCH = 1_000;
const GRACE_MS = 60_000;
/** Pauses after consecutive failures; the last one repeats. */
const BACKOFF_MS = [100, 200, 500, 1_000, 2_000, 5_000] as const;

/** Opens the read models of this process, and the projector that keeps them up to date once started. */
export async function openProjector(deps: ProjectorDeps): Promise<Projector> {
  const readModels = await openReadModels(deps);
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  return {
    readModels,
    status: readModels.status,
    start() {
      running ??= run(deps, readModels, closing.signal);
    },
    async stop() {
      closing.abort();
      await running;
    },
  };
}

async function run(deps: ProjectorDeps, readModels: LiveReadModels, closing: AbortSignal): Promise<void> {
  const { documents, clock, logger, leaseMs = LEASE_MS, tickMs = TICK_MS } = deps;
  for (let failures = 0; !closing.aborted; ) {
    try {
      const state = await openProjectorState(documents);
      const leases = await openLeases({ documents, collection: 'projector-leases', durationMs: leaseMs, clock });
      const lease = await leases.acquire(SINGLETON_KEY, { pollMs: tickMs, signal: closing });
      logger.info({}, 'Projecting');
      failures = 0;
      const term = new LeaderTerm(deps, readModels, state, lease, tickMs, closing);
      try {
        await term.run();
      } finally {
        // A lease that cannot be released expires.
        await lease.release().catch(() => {});
      }
    } catch (error) {
      if (error === closing.reason) return;
      logger.error({ err: error }, 'Projector stopped; restarting');
      await pause(failures, closing);
      failures += 1;
    }
  }
}

/** Another projector has taken over the checkpoint or the lease. */
class Fenced extends Error {}

/** The term in which this process holds the lease. */
class LeaderTerm {
  readonly #deps: ProjectorDeps;
  readonly #readModels: LiveReadModels;
  readonly #state: ProjectorState;
  readonly #lease: Lease;
  readonly #tickMs: number;
  readonly #closing: AbortSignal;
  readonly #over = new AbortController();
  readonly #turns = new SerialQueue();
  #live: Target[] = [];
  #checkpoint: Stored<Checkpoint> | undefined;
  #projecting: Promise<void> | undefined;
  #building: Promise<void> | undefined;
  readonly #failures = new Map<ProjectorFailure['doing'], ProjectorFailure>();

  constructor(
    deps: ProjectorDeps,
    readModels: LiveReadModels,
    state: ProjectorState,
    lease: Lease,
    tickMs: number,
    closing: AbortSignal,
  ) {
    this.#deps = deps;
    this.#readModels = readModels;
    this.#state = state;
    this.#lease = lease;
    this.#tickMs = tickMs;
    this.#closing = AbortSignal.any([closing, this.#over.signal]);
  }

  /** Runs until closed or until the lease is lost. */
  async run(): Promise<void> {
    try {
      await this.#report();
      this.#checkpoint = await this.#state.checkpoints.get(SINGLETON_KEY);
      for (const projection of this.#deps.projections) {
        const pointer = await this.#state.pointers.get(projection.name);
        if (pointer?.document.version === projection.version) {
          this.#live.push(await this.#target(projection, pointer.document.collection));
        }
      }
      if (this.#live.length > 0) this.#project();
      while (!this.#closing.aborted) {
        await this.#tick();
        await delay(this.#tickMs, undefined, { signal: this.#closing }).catch(() => {});
      }
    } finally {
      this.#over.abort();
      await Promise.all([this.#projecting, this.#building]);
    }
  }

  async #tick(): Promise<void> {
    if (!this.#lease.isHeld()) {
      this.#deps.logger.warn({}, 'Another process is projecting now');
      this.#over.abort();
      return;
    }
    if (this.#building === undefined) {
      const build = await this.#nextBuild();
      if (build !== undefined) {
        this.#building = this.#keepTrying('build', () => this.#build(build)).finally(() => {
          this.#building = undefined;
        });
      }
    }
    await this.#dropRetired();
  }

  #project(): void {
    this.#projecting ??= this.#keepTrying('project', () => this.#followLog());
  }

  /** Folds the live collections until the term ends. */
  async #followLog(): Promise<void> {
    await this.#inTurn(async () => {
      this.#checkpoint = await this.#state.checkpoints.get(SINGLETON_KEY);
      // Another projector may have moved it; the events in between are in the store, but not in the caches.
      for (const { cache } of this.#live) cache.clear();
    });
    const after = this.#checkpoint?.document.position ?? LOG_START;
    for await (const batch of this.#deps.events.subscribe({ after, signal: this.#closing })) {
      await this.#inTurn(async () => {
        await fold(this.#live, batch.events.map(upcast));
        await this.#advance(batch.position, batch.events.length);
      });
      this.#worked('project');
      if (this.#closing.aborted) return;
    }
  }

  /** Moves the live checkpoint. @throws {Fenced} if another projector has moved it */
  async #advance(position: Position, events: number, swaps = 0): Promise<void> {
    const { checkpoints } = this.#state;
    const last = this.#checkpoint;
    const before = last?.document ?? { position: LOG_START, events: 0, swaps: 0 };
    if (position <= before.position && swaps === 0 && last !== undefined) return;
    const document: Checkpoint = {
      position: position > before.position ? position : before.position,
      events: before.events + events,
      swaps: before.swaps + swaps,
    };
    const written =
      last === undefined
        ? await checkpoints.insert(SINGLETON_KEY, document)
        : await checkpoints.replace(SINGLETON_KEY, document, last.version);
    if (!written) throw new Fenced('Another projector moved the checkpoint');
    this.#checkpoint = { key: SINGLETON_KEY, version: (last?.version ?? 0) + 1, document };
    this.#readModels.reached(document);
  }

  /** The build to continue or to start, if any. */
  async #nextBuild(): Promise<Stored<Build> | undefined> {
    const { builds, pointers, requests } = this.#state;
    const { projections } = this.#deps;
    const begun = await builds.get(SINGLETON_KEY);
    if (begun !== undefined) {
      const current = begun.document.collections.every(({ projection, version }) =>
        projections.some((known) => known.name === projection && known.version === version),
      );
      if (current) return begun;
      for (const { collection } of begun.document.collections) await this.#deps.documents.drop(collection);
      if (!(await builds.delete(SINGLETON_KEY, begun.version))) throw new Fenced('Another projector builds');
    }
    const collections: Build['collections'][number][] = [];
    const names = projections.map(({ name }) => name);
    const requested = (await requests.getMany(names)).map(({ key }) => key);
    const known = new Map((await pointers.getMany(names)).map((pointer) => [pointer.key, pointer]));
    for (const projection of projections) {
      const pointer = known.get(projection.name);
      const upToDate = pointer?.document.version === projection.version;
      if (!upToDate || requested.includes(projection.name)) collections.push(nextGeneration(projection, pointer));
    }
    if (collections.length === 0) return undefined;
    const total = this.#checkpoint?.document.events;
    const build: Build = defined({ collections, position: LOG_START, done: 0, total });
    if (!(await builds.insert(SINGLETON_KEY, build))) throw new Fenced('Another projector builds');
    for (const name of requested) await requests.delete(name);
    return builds.get(SINGLETON_KEY);
  }

  async #build(begun: Stored<Build>): Promise<void> {
    const { builds } = this.#state;
    const names = begun.document.collections.map(({ projection }) => projection);
    this.#deps.logger.info({ readModels: names }, 'Building read models');
    const targets: Target[] = [];
    for (const { projection: name, collection } of begun.document.collections) {
      const projection = this.#deps.projections.find((known) => known.name === name);
      if (projection !== undefined) targets.push(await this.#target(projection, collection));
    }

    let at = (await builds.get(SINGLETON_KEY)) ?? begun;
    const write = async (events: readonly Recorded[], position: Position) => {
      await fold(targets, events);
      const document: Build = { ...at.document, position, done: at.document.done + events.length };
      if (!(await builds.replace(SINGLETON_KEY, document, at.version))) throw new Fenced('Another projector builds');
      at = { ...at, version: at.version + 1, document };
    };
    let read: Recorded[] = [];
    for await (const batch of this.#deps.events.subscribe({ after: at.document.position, signal: this.#closing })) {
      read.push(...batch.events.map(upcast));
      if (!batch.caughtUp && read.length < BUILD_BATCH) continue;
      await write(read, batch.position);
      read = [];
      this.#worked('build');
      if (batch.caughtUp) break;
    }
    if (this.#closing.aborted) return;

    await this.#inTurn(async () => {
      // The live collections stand still now. The new ones catch up with them before the swap.
      const live = this.#checkpoint?.document.position;
      let rest: Recorded[] = [];
      for await (const event of this.#deps.events.readAll({ after: at.document.position })) {
        if (live === undefined || event.position > live) break;
        rest.push(upcast(event));
        if (rest.length < BUILD_BATCH) continue;
        await write(rest, event.position);
        rest = [];
      }
      await fold(targets, rest);
      await this.#swap(at.document, targets);
      if (!(await builds.delete(SINGLETON_KEY, at.version))) throw new Fenced('Another projector builds');
    });
    this.#deps.logger.info({ readModels: names, events: at.document.done }, 'Read models built');
    this.#project();
  }

  async #swap(build: Build, targets: readonly Target[]): Promise<void> {
    const { pointers } = this.#state;
    for (const { projection, version, generation, collection } of build.collections) {
      const pointer = await pointers.get(projection);
      if (pointer?.document.collection === collection) continue;
      const retired = pointer?.document.retired ?? [];
      await put(pointers, projection, {
        collection,
        version,
        generation,
        retired: pointer ? [...retired, { collection: pointer.document.collection, at: this.#deps.clock() }] : retired,
      });
    }
    const built = new Set(targets.map(({ projection }) => projection.name));
    this.#live = [...this.#live.filter(({ projection }) => !built.has(projection.name)), ...targets];
    // Without a checkpoint nothing was live yet: it starts where the build ended.
    if (this.#checkpoint === undefined) await this.#advance(build.position, build.done, 1);
    else await this.#advance(this.#checkpoint.document.position, 0, 1);
  }

  async #dropRetired(): Promise<void> {
    const { pointers } = this.#state;
    const { projections, documents, clock, graceMs = GRACE_MS } = this.#deps;
    for (const pointer of await pointers.getMany(projections.map(({ name }) => name))) {
      const old = pointer.document.retired.filter(({ at }) => clock() - at >= graceMs);
      if (old.length === 0) continue;
      for (const { collection } of old) await documents.drop(collection);
      const retired = pointer.document.retired.filter((each) => !old.includes(each));
      await pointers.replace(pointer.key, { ...pointer.document, retired }, pointer.version);
    }
  }

  /** Runs `work` until it succeeds, reporting failures and pausing after each. Being fenced ends the term. */
  async #keepTrying(doing: ProjectorFailure['doing'], work: () => Promise<void>): Promise<void> {
    while (!this.#closing.aborted) {
      try {
        await work();
        this.#worked(doing);
        return;
      } catch (error) {
        if (this.#closing.aborted) return;
        if (error instanceof Fenced) {
          this.#deps.logger.warn({ reason: error.message }, 'Another process is projecting now');
          this.#over.abort();
          return;
        }
        const attempts = (this.#failures.get(doing)?.attempts ?? 0) + 1;
        this.#deps.logger.error({ err: error, doing, attempts }, 'Projection failed; retrying');
        this.#failures.set(doing, { doing, attempts, message: error instanceof Error ? error.message : String(error) });
        await this.#report();
        await pause(attempts - 1, this.#closing);
      }
    }
  }

  #worked(doing: ProjectorFailure['doing']): void {
    if (this.#failures.delete(doing)) this.#report();
  }

  /** Publishes the failure to every process. If even that cannot be stored, the store's own errors show. */
  async #report(): Promise<void> {
    const [failure] = this.#failures.values();
    const { failures } = this.#state;
    await (failure === undefined ? failures.delete(SINGLETON_KEY) : put(failures, SINGLETON_KEY, failure)).catch(
      () => {},
    );
  }

  /** Writing to the live collections and swapping them happen one after another. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    return this.#turns.run(SINGLETON_KEY, work);
  }

  async #target(projection: AnyProjection, collection: string): Promise<Target> {
    const documents: Documents<Record<string, unknown>> = await this.#deps.documents.open(
      collectionOf(projection, collection),
    );
    return createTarget(projection, documents);
  }
}

async function pause(failures: number, signal: AbortSignal): Promise<void> {
  await delay(BACKOFF_MS[failures] ?? BACKOFF_MS.at(-1), undefined, { signal }).catch(() => {});
}
