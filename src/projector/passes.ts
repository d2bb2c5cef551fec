import { setTimeout as delay } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import type { EventStore, StoredEvent } from '../event-store/event-store.ts';
import type { Place, ReadModelId, Written } from '../read-models/state.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import { type Building, bulkBuild, type StepOptions } from './bulk-build.ts';
import { fold, type ProjectionFailed, type Target } from './fold.ts';

/** A collection that a pass keeps up to date. */
export type Member = Target & {
  readonly id: ReadModelId;
  readonly collection: string;
  /** Whether the engine may lose its last writes and keep the positions. */
  readonly mayLose: boolean;
};

/** Events that a member that is behind folds in one go. More would be faster but block the process for longer. */
const CATCH_UP_BATCH = 1_000;
/** Pauses after consecutive failures of a store; the last one repeats. */
const BACKOFF_MS = [100, 200, 500, 1_000, 2_000, 5_000] as const;

type PassesDeps = {
  readonly events: Pick<EventStore, 'subscribe' | 'readAll'>;
  readonly logger: Pick<BaseLogger, 'info' | 'error'>;
  readonly step: StepOptions;
  /** Stores how far collections are, after the documents. @returns how many events there are, as far as known */
  readonly advance: (collections: readonly string[], place: Place, written: Written) => Promise<number>;
  /** Notes that a collection, which then leaves, cannot take an event. If even that cannot be stored, the store is at fault. */
  readonly failed: (member: Pick<Member, 'id' | 'collection'>, failure: ProjectionFailed) => Promise<void>;
  /** Opens a collection that has been built. */
  readonly opened: (building: Building) => Promise<Member>;
  /** Members have caught up. The pass they join stands still until this resolves. */
  readonly joined: (members: readonly Member[]) => Promise<void>;
};

/**
 * Passes over the log: one that follows it for all members at its end, and one for each group of members that are behind, which
 * join the first when they have caught up. A member that fails leaves, and holds up nobody.
 */
export class Passes {
  readonly #deps: PassesDeps;
  readonly #stopping = new AbortController();
  readonly #turns = new SerialQueue();
  /** Members by collection, in whichever pass. One that is removed leaves its pass before the next write. */
  readonly #members = new Map<string, Member | Building>();
  readonly #running = new Set<Promise<void>>();
  /** The pass at the end of the log; absent while it has no members. */
  #following: { readonly members: Set<Member>; place: Place } | undefined;

  constructor(deps: PassesDeps) {
    this.#deps = deps;
  }

  has(collection: string): boolean {
    return this.#members.has(collection);
  }

  /** Adds members that are at `place`. */
  add(members: readonly Member[], place: Place): void {
    for (const member of members) this.#members.set(member.collection, member);
    this.#run(this.#catchUp(new Set(members), place));
  }

  /** Builds collections that are at `place` in bulk. Once they are, they are members like the others. */
  build(buildings: readonly Building[], from: Place): void {
    for (const building of buildings) this.#members.set(building.collection, building);
    let place = from;
    const isWanted = (building: Building) => this.#members.get(building.collection) === building;
    const built = this.#keepTrying(async () => {
      const { events, logger, step, advance } = this.#deps;
      const done = await bulkBuild(
        {
          events,
          logger,
          step,
          isWanted,
          signal: this.#stopping.signal,
          advance: async (collections, at, written) => {
            const total = await advance(collections, at, written);
            place = at;
            return total;
          },
          failed: async (building, failure) => {
            await this.#deps.failed(building, failure);
            this.remove((each) => each === building);
          },
        },
        buildings.filter(isWanted),
        place,
      );
      const members: Member[] = [];
      for (const building of done.built) {
        const member = await this.#deps.opened(building);
        if (isWanted(building)) members.push(member);
      }
      if (members.length > 0) this.add(members, done.place);
    });
    this.#run(built.finally(() => Promise.all(buildings.map(({ load }) => load.close()))));
  }

  remove(which: (member: Member | Building) => boolean): void {
    for (const [collection, member] of this.#members) if (which(member)) this.#members.delete(collection);
  }

  /** Stops after the current batches. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  #run(work: Promise<void>): void {
    this.#running.add(work);
    work.finally(() => this.#running.delete(work));
  }

  #catchUp(members: Set<Member>, from: Place): Promise<void> {
    const { signal } = this.#stopping;
    let place = from;
    return this.#keepTrying(async () => {
      let read: StoredEvent[] = [];
      for await (const batch of this.#deps.events.subscribe({ after: place.position, signal })) {
        read.push(...batch.events);
        if (!batch.caughtUp && read.length < CATCH_UP_BATCH) continue;
        place = await this.#write(members, read, { position: batch.position, events: place.events + read.length });
        read = [];
        if (batch.caughtUp || members.size === 0) break;
      }
      if (signal.aborted || members.size === 0) return;
      await this.#inTurn(async () => {
        const following = this.#following;
        if (following !== undefined) place = await this.#catchUpWith(following.place, members, place);
        if (members.size === 0) return;
        await this.#deps.joined([...members]);
        if (following !== undefined) for (const member of members) following.members.add(member);
        else {
          this.#following = { members, place };
          this.#run(this.#follow(this.#following));
        }
      });
    });
  }

  /** The pass that follows the log stands still meanwhile. */
  async #catchUpWith(end: Place, members: Set<Member>, from: Place): Promise<Place> {
    let place = from;
    let rest: StoredEvent[] = [];
    const write = async (position: string) => {
      place = await this.#write(members, rest, { position, events: place.events + rest.length });
      rest = [];
    };
    if (place.position < end.position) {
      for await (const event of this.#deps.events.readAll({ after: place.position })) {
        if (event.position > end.position) break;
        if (rest.push(event) === CATCH_UP_BATCH) await write(event.position);
      }
    }
    if (rest.length > 0 || place.position < end.position) await write(end.position);
    return place;
  }

  /** Folds new events for as long as there is anyone to fold them for. */
  #follow(pass: { readonly members: Set<Member>; place: Place }): Promise<void> {
    const { signal } = this.#stopping;
    return this.#keepTrying(async () => {
      for await (const { events, position } of this.#deps.events.subscribe({ after: pass.place.position, signal })) {
        const isOver = await this.#inTurn(async () => {
          const place = { position, events: pass.place.events + events.length };
          if (place.position > pass.place.position) pass.place = await this.#write(pass.members, events, place);
          if (pass.members.size > 0) return false;
          this.#following = undefined;
          return true;
        });
        if (isOver || signal.aborted) return;
      }
    });
  }

  async #write(members: Set<Member>, events: readonly StoredEvent[], place: Place): Promise<Place> {
    for (const member of members) if (this.#members.get(member.collection) !== member) members.delete(member);
    const failures = await fold([...members], events);
    for (const [member, failure] of failures) {
      // A write that fails once may have met a store in trouble.
      const again = failure.event === undefined ? await fold([member], events) : failures;
      if (!again.has(member)) continue;
      await this.#deps.failed(member, failure);
      this.remove((each) => each === member);
    }
    for (const member of members) if (this.#members.get(member.collection) !== member) members.delete(member);
    if (members.size > 0) {
      const all = [...members];
      const written = all.flatMap(({ collection, mayLose, written: { position } }) =>
        mayLose ? [[collection, position] as const] : [],
      );
      await this.#deps.advance(
        all.map(({ collection }) => collection),
        place,
        Object.fromEntries(written),
      );
    }
    return place;
  }

  /** Repeats `work`, which continues where it stopped, until it succeeds. */
  async #keepTrying(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    for (let attempts = 1; !signal.aborted; attempts++) {
      try {
        await work();
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.logger.error({ err: error, attempts }, 'Projecting was interrupted; retrying');
        await delay(BACKOFF_MS[attempts - 1] ?? BACKOFF_MS.at(-1), undefined, { signal }).catch(() => {});
      }
    }
  }

  /** Batches of the pass that follows the log, and joining it, happen one after another. */
  #inTurn<R>(work: () => Promise<R>): Promise<R> {
    return this.#turns.run('following', work);
  }
}
