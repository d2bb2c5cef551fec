import type { BaseLogger } from 'pino';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Checkpoint, Documents, OperatedDocumentStore } from '../document-store/document-store.ts';
import { roomProblem } from '../document-store/room.ts';
import { defined } from '../domain/defined.ts';
import type { OperatedEventStore } from '../event-store/event-store.ts';
import { askLog } from '../event-store/outage.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import type { Lease, Leases } from '../leases/lease.ts';
import {
  type Catalogue,
  type CatalogueEvent,
  type CatalogueStore,
  collectionOf,
  collectionsOf,
  entriesOf,
  idOf,
  projectorLease,
  type ReadModelId,
  START,
} from '../read-models/catalogue.ts';
import type { NodeStatus } from '../read-models/node-status.ts';
import type { LiveReadModels } from '../read-models/read-models.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import type { Building, StepOptions } from './bulk-build.ts';
import { CollectionCleanup } from './cleanup.ts';
import { createTarget, ProjectionFailed } from './fold.ts';
import { type Member, ProjectionRunner } from './runner.ts';
import { readSkippedEvents } from './skipped-events.ts';

/** Pauses before a failed read model is tried again; the last one repeats. */
const RETRY_MS = [500, 1_000, 2_000, 5_000] as const;
/** Log a failure at the first attempt and then every this many attempts, about once a minute. */
const LOG_EVERY_ATTEMPTS = 12;
/** The interval of log probes, and their timeout. */
const PROBE_EVERY_MS = 1_000;
const PROBE_WITHIN_MS = 2_000;
/** Consecutive failed probes before this process releases its lease. */
const MAX_FAILED_PROBES = 3;
/** A longer log is folded in bulk. A shorter one takes less time than starting a thread for that. */
const BULK_FROM_EVENTS = 5_000;

const FAILS = 'A read model fails; the others continue';
const NOT_REBUILT = 'A read model cannot be rebuilt; the former documents stay in use';
const NOT_KEPT = 'Former documents of a read model cannot be kept up to date; few readers, if any, still use them';

export type SupervisorDeps = {
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly leases: Leases;
  readonly catalogue: CatalogueStore;
  readonly readModels: Pick<LiveReadModels, 'reached' | 'changed'>;
  /** A `tool`, such as the command line, keeps read models up to date only while no service runs. Default `service`. */
  readonly kind: NodeStatus['kind'];
  /** How long an unused read model is kept, in milliseconds. Default 24 h. */
  readonly retireAfterMs: number;
  /** How long a collection is kept up to date after it was swapped out, in milliseconds. Default 10 s. */
  readonly graceMs: number;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
  /** The length of the log from which read models are built in bulk, default 5,000 events, and the size of the steps. */
  readonly bulk: BulkOptions;
};

type BulkOptions = { readonly fromEvents?: number } & StepOptions;

/**
 * Manages this process's read models (docs/decisions/read-models.md): acquires the lease of its release, keeps its read models up
 * to date, and drops unused collections.
 */
export class ProjectionSupervisor {
  readonly #deps: SupervisorDeps;
  readonly #runner: ProjectionRunner;
  readonly #cleanup: CollectionCleanup;
  readonly #projections: ReadonlyMap<ReadModelId, AnyProjection>;
  #lease: Lease | undefined;
  /** When to retry a failed read model, or a failed rebuild (monotonic). */
  readonly #retryAt = new Map<string, number>();
  #catalogueVersion = 0;
  #probedAt = Number.NEGATIVE_INFINITY;
  #failedProbes = 0;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#projections = new Map(deps.projections.map((projection) => [idOf(projection), projection]));
    const { events, logger, bulk } = deps;
    this.#runner = new ProjectionRunner({
      events,
      logger,
      step: bulk,
      isHeld: () => this.#isHeld(),
      reached: (checkpoints) => {
        faultPoint('read models stored, not answered');
        deps.readModels.reached({ checkpoints, catalogue: this.#catalogueVersion });
      },
      failed: (member, failure) => this.#failed(member, failure),
      opened: ({ id, projection, collection }, at) => this.#member(id, projection, collection, at),
      joined: (members) => this.#joined(members),
    });
    this.#cleanup = new CollectionCleanup({ ...deps, apply: (...changes) => this.#apply(...changes) });
  }

  /** Checks for changes, and acquires or releases the lease. */
  async tick(): Promise<void> {
    this.#dropLost();
    this.#probe();
    const isCutOff = this.#failedProbes >= MAX_FAILED_PROBES;
    if (isCutOff || (await this.#mustYieldToService())) return this.#release();
    await this.#acquire();
    const { document, version } = await this.#deps.catalogue.read();
    this.#catalogueVersion = version;
    const catalogue = await this.#claim(document);
    await this.#follow(catalogue);
    await this.#cleanup.tick(catalogue, this.#lease !== undefined);
  }

  /** Whether this process keeps the read models up to date. */
  isActive(): boolean {
    return this.#isHeld();
  }

  /** Whether this process holds the lease, and no read model is to be retried. */
  isSettled(): boolean {
    return this.#lease !== undefined && this.#retryAt.size === 0;
  }

  /** Stops, so that other processes can take over at once. */
  async stop(): Promise<void> {
    await Promise.all([this.#runner.stop(), this.#cleanup.stop()]);
    // If this fails, the lease ends with the heartbeat.
    await this.#release().catch(() => {});
  }

  #isHeld = (): boolean => this.#lease?.isHeld() === true;

  async #apply(...changes: readonly CatalogueEvent[]): Promise<Catalogue> {
    const stored = await this.#deps.catalogue.apply(...changes);
    this.#catalogueVersion = Math.max(this.#catalogueVersion, stored.version);
    await this.#deps.readModels.changed(stored);
    return stored.document;
  }

  /** The command line keeps read models up to date only while no service runs. */
  async #mustYieldToService(): Promise<boolean> {
    const { heartbeats, kind } = this.#deps;
    return kind === 'tool' && (await heartbeats.living()).some(({ status }) => status.kind === 'service');
  }

  #dropLost(): void {
    if (this.#lease === undefined || this.#isHeld()) return;
    this.#lease = undefined;
    this.#runner.remove(() => true);
    this.#deps.logger.warn({}, 'The lease of the read models was lost: another process may take over');
  }

  async #release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = undefined;
    this.#runner.remove(() => true);
    await lease?.release();
  }

  async #acquire(): Promise<void> {
    if (this.#lease !== undefined) return;
    this.#lease = await this.#deps.leases.tryAcquire(projectorLease(this.#deps.projections));
    if (this.#lease !== undefined) this.#deps.logger.info({}, 'Keeping read models up to date');
  }

  /** Adds the read models of this process to the catalogue. */
  async #claim(catalogue: Catalogue): Promise<Catalogue> {
    const missing = [...this.#projections.keys()].filter((id) => {
      const entry = catalogue.models[id];
      return entry === undefined || collectionsOf(entry).length === 0;
    });
    if (this.#lease === undefined || missing.length === 0) return catalogue;
    return this.#apply(
      ...missing.map((id) => ({ type: 'Claimed' as const, id, types: this.#projections.get(id)?.types ?? [] })),
    );
  }

  /** Adds the collections of this release's read models to passes, and removes the others. */
  async #follow(catalogue: Catalogue): Promise<void> {
    if (this.#lease === undefined) return;
    const held = [...this.#projections].flatMap(([id, projection]) => {
      const entry = this.#isPausing(id) ? undefined : catalogue.models[id];
      return entry === undefined ? [] : [{ id, projection, entry }];
    });
    const wanted = new Set(held.flatMap(({ entry }) => collectionsOf(entry)));
    this.#runner.remove(({ collection }) => !wanted.has(collection));
    const missing = held.flatMap(({ id, projection, entry }) =>
      collectionsOf(entry)
        .filter((collection) => !this.#runner.has(collection) && !this.#isPausing(collection))
        .map((collection) => ({
          id,
          projection,
          collection,
          isBuilt: collection === entry.building,
          isLive: collection === entry.live,
        })),
    );
    if (missing.length === 0) return;
    const { documents, logger } = this.#deps;
    const checkpoints = await documents.checkpoints(missing.map(({ collection }) => collection));
    const lost = missing.flatMap(({ collection, isLive }) =>
      isLive && !checkpoints.has(collection) ? collection : [],
    );
    if (lost.length > 0) {
      logger.warn({ collections: lost }, 'Read models were lost, as after a power failure: building them again');
      await this.#apply({ type: 'Lost', collections: lost });
      return;
    }
    const isLong = missing.some(({ isBuilt }) => isBuilt) && (await this.#isLogLong(checkpoints));
    const groups = new Map<string, { at: Checkpoint; members: Member[]; buildings: Building[] }>();
    const built: ReadModelId[] = [];
    for (const { id, projection, collection, isBuilt } of missing) {
      const at = checkpoints.get(collection) ?? START;
      if (isBuilt && at.events === 0 && !(await this.#hasRoom(catalogue, id, projection, collection))) continue;
      const group = groups.get(at.position) ?? { at, members: [], buildings: [] };
      groups.set(at.position, group);
      const building = isBuilt && isLong ? await this.#building(id, projection, collection) : undefined;
      if (building !== undefined) group.buildings.push(building);
      else group.members.push(await this.#member(id, projection, collection, checkpoints.get(collection)));
      if (isBuilt) built.push(id);
    }
    if (built.length > 0) logger.info({ readModels: built }, 'Building read models');
    for (const { at, members, buildings } of groups.values()) {
      if (members.length > 0) this.#runner.add(members, at);
      if (buildings.length > 0) this.#runner.build(buildings, at);
    }
  }

  /** Whether the log is long enough for a bulk load. */
  async #isLogLong(checkpoints: ReadonlyMap<string, Checkpoint>): Promise<boolean> {
    const { fromEvents = BULK_FROM_EVENTS } = this.#deps.bulk;
    if ([...checkpoints.values()].some(({ events }) => events >= fromEvents)) return true;
    let length = 0;
    for await (const _ of this.#deps.events.readAll({ limit: fromEvents })) length += 1;
    return length >= fromEvents;
  }

  /** Whether the disk has room for another copy. The first copy of a store is always built. */
  async #hasRoom(catalogue: Catalogue, id: ReadModelId, projection: AnyProjection, collection: string) {
    const isFirst = entriesOf(catalogue).every(([, { live }]) => live === undefined);
    const problem = isFirst ? undefined : await roomProblem(this.#deps.documents);
    if (problem === undefined) return true;
    await this.#failed({ id, collection }, new ProjectionFailed(projection, undefined, new Error(problem)));
    return false;
  }

  /** @returns undefined if the collection was begun without a bulk load, when the log was short */
  async #building(id: ReadModelId, projection: AnyProjection, collection: string): Promise<Building | undefined> {
    const { events, documents } = this.#deps;
    const load = await documents.load<Row>(collectionOf(projection, collection));
    return load && { id, projection, collection, load, skipped: await readSkippedEvents(events, projection) };
  }

  async #member(id: ReadModelId, projection: AnyProjection, collection: string, at?: Checkpoint): Promise<Member> {
    const documents: Documents<Row> = await this.#deps.documents.open(collectionOf(projection, collection));
    const skipped = await readSkippedEvents(this.#deps.events, projection);
    return { ...createTarget(projection, documents, at, skipped), id, collection };
  }

  /** Members have caught up: built collections go live, and failed ones have recovered. */
  async #joined(members: readonly Member[]): Promise<void> {
    const { readModels, logger, catalogue } = this.#deps;
    const { models } = (await catalogue.read()).document;
    const collections = members.map(({ collection }) => collection);
    const isSwap = members.some(({ id, collection }) => models[id]?.building === collection);
    if (isSwap) faultPoint('read model built, not swapped');
    await this.#apply({ type: 'CaughtUp', collections });
    if (isSwap) faultPoint('read model swapped, not announced');
    // Announce the new catalogue to readers in this process now, before they treat the next command as visible.
    readModels.reached({ checkpoints: [], catalogue: this.#catalogueVersion });
    for (const what of members.flatMap(({ id, collection }) => [id, collection])) this.#retryAt.delete(what);
    const idsOf = (which: (member: Member) => boolean) => members.filter(which).map(({ id }) => id);
    const built = idsOf(({ id, collection }) => models[id]?.building === collection);
    const recovered = idsOf(({ id, collection }) => models[id]?.failure?.collection === collection);
    if (built.length > 0) logger.info({ readModels: built }, 'Read models built');
    if (recovered.length > 0) logger.info({ readModels: recovered }, 'Read models that failed have recovered');
  }

  /**
   * Records a failure, for another attempt after a pause. If only a rebuild fails, the live collection stays up to date.
   */
  async #failed({ id, collection }: Pick<Member, 'id' | 'collection'>, error: Error): Promise<void> {
    if (!this.#isHeld()) return;
    const { logger } = this.#deps;
    const event = error instanceof ProjectionFailed ? error.event : undefined;
    const failure = { collection, message: error.message, ...defined({ event }) };
    const {
      live,
      retiring = [],
      failure: recorded,
    } = (await this.#apply({ type: 'Failed', id, failure })).models[id] ?? {};
    const isRebuild = live !== undefined && live !== collection;
    const attempts = recorded?.collection === collection ? recorded.attempts : 1;
    if (attempts === 1 || attempts % LOG_EVERY_ATTEMPTS === 0) {
      const message = retiring.includes(collection) ? NOT_KEPT : isRebuild ? NOT_REBUILT : FAILS;
      logger.error({ err: error, readModel: id, attempts }, message);
    }
    const pauseMs = RETRY_MS[attempts - 1] ?? RETRY_MS[RETRY_MS.length - 1] ?? 0;
    this.#retryAt.set(isRebuild ? collection : id, performance.now() + pauseMs);
  }

  #isPausing(what: string): boolean {
    return performance.now() < (this.#retryAt.get(what) ?? 0);
  }

  /** Probes the log in the background. A process that cannot reach it releases its lease. */
  #probe(): void {
    if (performance.now() - this.#probedAt < PROBE_EVERY_MS) return;
    this.#probedAt = Number.POSITIVE_INFINITY;
    askLog(this.#deps.events, PROBE_WITHIN_MS)
      .then(
        () => {
          this.#failedProbes = 0;
        },
        (error: unknown) => {
          this.#failedProbes += 1;
          if (this.#failedProbes === MAX_FAILED_PROBES)
            this.#deps.logger.warn(
              { err: error },
              'The log cannot be reached: others may keep the read models up to date',
            );
        },
      )
      .finally(() => {
        this.#probedAt = performance.now();
      });
  }
}
