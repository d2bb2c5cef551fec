import type { BaseLogger } from 'pino';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { DocumentStore, Documents } from '../document-store/document-store.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import { roomProblem } from '../document-store/room.ts';
import { defined } from '../domain/defined.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { LiveReadModels, Said } from '../read-models/read-models.ts';
import {
  collectionOf,
  idOf,
  idsOf,
  isUnreadable,
  type Place,
  type Positions,
  placeOf,
  type ReadModelId,
  type ReadModelStateStore,
  type ReadModelStates,
  START,
  toBuild,
  withModel,
} from '../read-models/state.ts';
import { within } from '../runtime/within.ts';
import type { Building, StepOptions } from './bulk-build.ts';
import { Clearing } from './clearing.ts';
import { createTarget, ProjectionFailed } from './fold.ts';
import { type Member, Passes } from './passes.ts';
import { readSkippedEvents } from './skipped-events.ts';

/** Pauses of a process before it tries again what it failed on, in which others may try; the last one repeats. */
const RETRY_MS = [500, 1_000, 2_000, 5_000] as const;
/** A failure is logged at the first attempt and at every so many, about once a minute. */
const SAID_EVERY_ATTEMPTS = 12;
/** The owner of a read model that waits for its next one. */
const HANDED_OVER = '';
/** How often the log is asked whether it is there, and how long it may take to answer. */
const PROBE_EVERY_MS = 1_000;
const PROBE_WITHIN_MS = 2_000;
/** A longer log is folded in bulk into what is built from its start. A shorter one is folded before a thread for that has started. */
const BULK_FROM_EVENTS = 5_000;
/** Probes that fail in a row before this process lets others try. */
const MAX_FAILED_PROBES = 3;

type UpkeepDeps = {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<Said>;
  readonly state: ReadModelStateStore;
  readonly readModels: Pick<LiveReadModels, 'reached' | 'changed'>;
  readonly kind: Said['kind'];
  readonly retireAfterMs: number;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
  readonly bulk?: BulkOptions;
};

export type BulkOptions = { readonly fromEvents?: number } & StepOptions;

/**
 * What this process does for read models (docs/decisions/read-models.md): it takes over those of its release that no living
 * process looks after, keeps them up to date, hands over one that it cannot get on with, and clears away what nobody needs.
 */
export class Upkeep {
  readonly #deps: UpkeepDeps;
  readonly #passes: Passes;
  readonly #clearing: Clearing;
  readonly #projections: ReadonlyMap<ReadModelId, AnyProjection>;
  /** The read models that this process looks after. */
  readonly #owned = new Set<ReadModelId>();
  /** When to try again what failed here (monotonic): a read model, or a collection beside the one that is read. */
  readonly #retryAt = new Map<string, number>();
  #version = 0;
  #probedAt = Number.NEGATIVE_INFINITY;
  #failedProbes = 0;

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
    this.#projections = new Map(deps.projections.map((projection) => [idOf(projection), projection]));
    this.#passes = new Passes({
      events: deps.events,
      logger: deps.logger,
      step: deps.bulk ?? {},
      advance: async (collections, place, written) => {
        const { heartbeats, readModels } = deps;
        let told: Positions | undefined;
        // The documents are there already, so whoever waits for them in this process need not wait for this write as well. If others
        // take this process for dead, they may have swapped what it reads; the write will tell.
        const tell = (positions: Positions) => {
          if (heartbeats.sinceLastBeat() >= heartbeats.silenceMs) return;
          readModels.reached(positions);
          told = positions;
        };
        const positions = await deps.state.advance(collections, place, { states: this.#version, written, tell });
        if (positions !== told) readModels.reached(positions);
        return Math.max(0, ...positions.groups.map(({ events }) => events));
      },
      failed: (member, failure) => this.#failed(member, failure),
      opened: ({ id, projection, collection }) => this.#member(id, projection, collection),
      joined: (members) => this.#joined(members),
    });
    this.#clearing = new Clearing({
      ...deps,
      known: new Set(this.#projections.keys()),
      owned: this.#owned,
      update: (change) => this.#update(change),
      forget: async (gone) => void (await deps.state.advance([], START, { states: this.#version, gone })),
    });
  }

  /** Looks at what has changed, and takes over or hands over what is necessary. */
  async tick(): Promise<void> {
    const { heartbeats, kind, state } = this.#deps;
    // Others may take what this process looks after, and it will notice when it beats again.
    if (heartbeats.sinceLastBeat() >= heartbeats.silenceMs) return this.#letGo(() => true);
    this.#probe();
    const { document, version } = await state.readStates();
    this.#version = version;
    this.#letGo((id) => document.models[id]?.owner !== heartbeats.session);
    const stepsBack = kind === 'tool' && (await heartbeats.living()).some(({ said }) => said.kind === 'service');
    if (stepsBack || this.#failedProbes >= MAX_FAILED_PROBES) return this.#handOver();
    const states = await this.#takeOver(document);
    await this.#follow(states);
    await this.#clearing.tick(states);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#passes.stop(), this.#clearing.stop()]);
    // If this fails, the heartbeat ends all the same.
    await this.#handOver().catch(() => {});
  }

  async #update(change: (states: ReadModelStates) => ReadModelStates): Promise<ReadModelStates> {
    const { document, version } = await this.#deps.state.update(change);
    this.#version = Math.max(this.#version, version);
    await this.#deps.readModels.changed(version, document);
    return document;
  }

  #letGo(which: (id: ReadModelId) => boolean): void {
    const lost = [...this.#owned].filter(which);
    if (lost.length === 0) return;
    for (const id of lost) this.#owned.delete(id);
    this.#passes.remove(({ id }) => lost.includes(id));
    this.#deps.logger.warn({ readModels: lost }, 'No longer looking after read models: another process may');
  }

  /** Lets other processes take over immediately. Until one has, commands go on waiting for these read models. */
  async #handOver(): Promise<void> {
    const { session } = this.#deps.heartbeats;
    this.#passes.remove(() => true);
    this.#owned.clear();
    await this.#update((states) => {
      const ours = idsOf(states).filter((id) => states.models[id]?.owner === session);
      return ours.reduce((next, id) => withModel(next, id, { owner: HANDED_OVER }), states);
    });
  }

  /** Takes over the read models of this release that no living process looks after. */
  async #takeOver(seen: ReadModelStates): Promise<ReadModelStates> {
    const { heartbeats, logger } = this.#deps;
    const takes = new Map<ReadModelId, string | undefined>();
    for (const id of this.#projections.keys()) {
      if (this.#owned.has(id) || this.#isPausing(id)) continue;
      const owner = seen.models[id]?.owner;
      const isLooked =
        owner !== undefined &&
        owner !== heartbeats.session &&
        (await heartbeats.silentFor(owner)) < heartbeats.silenceMs;
      if (!isLooked) takes.set(id, owner);
    }
    if (takes.size === 0) return seen;

    const taken: ReadModelId[] = [];
    const states = await this.#update((now) => {
      taken.length = 0;
      let next = now;
      for (const [id, owner] of takes) {
        const model = now.models[id] ?? { generation: 0, leaving: [] };
        // Another process was faster.
        if (now.models[id] !== undefined && model.owner !== owner) continue;
        const hasNone = model.live === undefined && model.building === undefined;
        const types = this.#projections.get(id)?.types;
        next = withModel(next, id, { ...model, ...(hasNone && toBuild(id, model)), owner: heartbeats.session, types });
        taken.push(id);
      }
      return next;
    });
    for (const id of taken) this.#owned.add(id);
    const whole = taken.filter((id) => states.models[id]?.failure === undefined);
    if (whole.length > 0) logger.info({ readModels: whole }, 'Looking after read models');
    return states;
  }

  /** Brings the collections of the read models that this process looks after into a pass, and those that are gone out of it. */
  async #follow({ models }: ReadModelStates): Promise<void> {
    const { state, logger } = this.#deps;
    const missing: { readonly id: ReadModelId; readonly collection: string }[] = [];
    const wanted = new Set<string>();
    for (const id of this.#owned) {
      const { live, building, leaving = [] } = models[id] ?? {};
      for (const collection of [live, building, ...leaving]) {
        if (collection === undefined) continue;
        wanted.add(collection);
        if (!this.#passes.has(collection) && !this.#isPausing(collection)) missing.push({ id, collection });
      }
    }
    this.#passes.remove(({ collection }) => !wanted.has(collection));
    if (missing.length === 0) return;

    const positions = await state.positions();
    type AtPlace = { readonly place: Place; readonly members: Member[]; readonly buildings: Building[] };
    const groups = new Map<string, AtPlace>();
    const isLong = await this.#isLogLong(positions);
    for (const { id, collection } of missing) {
      const projection = this.#projections.get(id);
      if (projection === undefined) continue;
      const place = placeOf(positions, collection);
      const isBuilt = models[id]?.building === collection;
      if (isBuilt && place.events === 0) {
        const problem = await this.#roomProblem(models);
        if (problem !== undefined) {
          await this.#failed({ id, collection }, new ProjectionFailed(projection, undefined, new Error(problem)));
          continue;
        }
      }
      const group = groups.get(place.position) ?? { place, members: [], buildings: [] };
      groups.set(place.position, group);
      const building = isBuilt && isLong ? await this.#building(id, projection, collection) : undefined;
      if (building !== undefined) group.buildings.push(building);
      else group.members.push(await this.#member(id, projection, collection));
    }
    for (const { members, buildings, place } of groups.values()) {
      const built = [...members, ...buildings]
        .filter(({ id, collection }) => models[id]?.building === collection)
        .map(({ id }) => id);
      if (built.length > 0) logger.info({ readModels: built, eventsDone: place.events }, 'Building read models');
      if (members.length > 0) this.#passes.add(members, place);
      if (buildings.length > 0) this.#passes.build(buildings, place);
    }
  }

  /** Whether the log is worth a bulk load. */
  async #isLogLong({ groups }: Positions): Promise<boolean> {
    const { events, bulk: { fromEvents = BULK_FROM_EVENTS } = {} } = this.#deps;
    if (groups.some((group) => group.events >= fromEvents)) return true;
    let length = 0;
    for await (const _ of events.readAll({ limit: fromEvents })) length += 1;
    return length >= fromEvents;
  }

  /** @returns undefined if the collection has been begun otherwise, when the log was short */
  async #building(id: ReadModelId, projection: AnyProjection, collection: string): Promise<Building | undefined> {
    const { events, documents } = this.#deps;
    const load = await documents.load<Row>(collectionOf(projection, collection));
    return load && { id, projection, collection, load, skipped: await readSkippedEvents(events, projection) };
  }

  /** Whether there is room for another copy. The first one of a store is built in any case. */
  async #roomProblem(models: ReadModelStates['models']): Promise<string | undefined> {
    const isFirst = Object.values(models).every(({ live }) => live === undefined);
    return isFirst ? undefined : roomProblem(this.#deps.documents);
  }

  async #member(id: ReadModelId, projection: AnyProjection, collection: string): Promise<Member> {
    const documents: Documents<Row> = await this.#deps.documents.open(collectionOf(projection, collection));
    const skipped = await readSkippedEvents(this.#deps.events, projection);
    const mayLose = (await this.#deps.documents.lastWritten(collection)) !== undefined;
    return { ...createTarget(projection, documents, skipped), id, collection, mayLose };
  }

  /** Members have caught up: what was built becomes the live collection, and what failed is whole again. */
  async #joined(members: readonly Member[]): Promise<void> {
    const { logger } = this.#deps;
    const ids = [...new Set(members.map(({ id }) => id))];
    const joined = new Set(members.map(({ collection }) => collection));
    let built: ReadModelId[] = [];
    let recovered: ReadModelId[] = [];
    await this.#update((states) => {
      built = [];
      recovered = [];
      return ids.reduce((next, id) => {
        const { live, building, leaving = [], failure } = next.models[id] ?? {};
        const isBuilt = building !== undefined && joined.has(building);
        const isRecovered = failure !== undefined && joined.has(failure.collection);
        if (isBuilt) built.push(id);
        if (isRecovered) recovered.push(id);
        if (!isBuilt && !isRecovered) return next;
        return withModel(next, id, {
          ...(isBuilt && {
            live: building,
            building: undefined,
            leaving: live === undefined ? leaving : [...leaving, live],
          }),
          ...(isRecovered && { failure: undefined }),
        });
      }, states);
    });
    // Other processes read the states again before they take their next command for shown.
    if (built.length > 0 || recovered.length > 0)
      this.#deps.readModels.reached(await this.#deps.state.advance([], START, { states: this.#version }));
    for (const what of [...ids, ...joined]) this.#retryAt.delete(what);
    if (built.length > 0) logger.info({ readModels: built }, 'Read models built');
    if (recovered.length > 0) logger.info({ readModels: recovered }, 'Read models that failed have recovered');
  }

  /**
   * Notes a failure. Other processes may try then, unless it is that of a collection beside the one that is read: that one stays
   * up to date.
   */
  async #failed({ id, collection }: Pick<Member, 'id' | 'collection'>, failure: ProjectionFailed): Promise<void> {
    const { heartbeats, logger } = this.#deps;
    let attempts = 1;
    let isBeside = false;
    const states = await this.#update((states) => {
      const model = states.models[id];
      // Another process looks after it by now.
      if (model?.owner !== heartbeats.session) return states;
      isBeside = model.live !== undefined && model.live !== collection;
      // That it cannot be read outweighs what failed beside it.
      if (isBeside && isUnreadable(model)) return states;
      attempts = (model.failure?.collection === collection ? model.failure.attempts : 0) + 1;
      const { message, event } = failure;
      const noted = defined({ collection, message, event, attempts, by: heartbeats.session });
      return withModel(states, id, { failure: noted, ...(!isBeside && { owner: undefined }) });
    });
    const isOurs = states.models[id]?.failure?.by === heartbeats.session;
    if (isOurs && (attempts === 1 || attempts % SAID_EVERY_ATTEMPTS === 0)) {
      const message = isBeside
        ? 'A read model cannot be rebuilt; the former documents stay in use'
        : 'A read model fails; the others go on';
      logger.error({ err: failure, readModel: id, attempts }, message);
    }
    const pauseMs = RETRY_MS[attempts - 1] ?? RETRY_MS[RETRY_MS.length - 1] ?? 0;
    this.#retryAt.set(isBeside ? collection : id, performance.now() + pauseMs);
    if (isBeside) return;
    this.#owned.delete(id);
    this.#passes.remove((member) => member.id === id);
  }

  #isPausing(what: string): boolean {
    return performance.now() < (this.#retryAt.get(what) ?? 0);
  }

  /** Asks, in the background, whether the log is there. */
  #probe(): void {
    if (performance.now() - this.#probedAt < PROBE_EVERY_MS) return;
    this.#probedAt = Number.POSITIVE_INFINITY;
    within(PROBE_WITHIN_MS, this.#deps.events.ping())
      .then(
        () => {
          this.#failedProbes = 0;
        },
        (error: unknown) => {
          this.#failedProbes += 1;
          if (this.#failedProbes === MAX_FAILED_PROBES)
            this.#deps.logger.warn({ err: error }, 'The log cannot be reached: others may look after the read models');
        },
      )
      .finally(() => {
        this.#probedAt = performance.now();
      });
  }
}
