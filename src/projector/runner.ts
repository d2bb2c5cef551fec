import pRetry from 'p-retry';
import type { BaseLogger } from 'pino';
import type { Checkpoint } from '../document-store/document-store.ts';
import type { EventStore, Position, StoredEvent } from '../event-store/event-store.ts';
import type { ReadModelId } from '../read-models/catalogue.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import { type Building, bulkBuild, type StepOptions } from './bulk-build.ts';
import { Fenced, fold, isBefore, ProjectionFailed, store, type Target } from './fold.ts';

/** A collection that follows the log: a member of a pass. */
export type Member = Target & { readonly id: ReadModelId; readonly collection: string };

/** Events that a lagging member folds at once. More would be faster but block the process for longer. */
const CATCH_UP_BATCH = 1_000;
/** How long a checkpoint may wait if no event of a batch concerns its collection, so that such batches share one write. */
const STORE_WITHIN_MS = 50;
const RETRY = { retries: Number.POSITIVE_INFINITY, minTimeout: 100, maxTimeout: 5_000 } as const;

/** One read of the log, whose events several members fold. */
type Pass = { readonly members: Set<Member>; at: Checkpoint };

type RunnerDeps = {
  readonly events: Pick<EventStore, 'subscribe' | 'readAll'>;
  readonly logger: Pick<BaseLogger, 'info' | 'error'>;
  readonly step: StepOptions;
  /** Whether this process still holds the lease. */
  readonly isHeld: () => boolean;
  /** Called with new checkpoints. */
  readonly reached: (checkpoints: readonly (readonly [collection: string, checkpoint: Checkpoint])[]) => void;
  /**
   * Records that a collection failed on an event; it then leaves its pass. Rejects if that cannot be stored.
   */
  readonly failed: (member: Pick<Member, 'id' | 'collection'>, failure: Error) => Promise<void>;
  /** Opens a collection that has been built. */
  readonly opened: (building: Building, checkpoint: Checkpoint) => Promise<Member>;
  /** Called when members have caught up. The pass that they join waits until this resolves. */
  readonly joined: (members: readonly Member[]) => Promise<void>;
};

/**
 * Runs passes over the log: one follows its end for all current members; each group of lagging members has its own and joins the
 * first once it has caught up. A failing member leaves its pass without affecting the others.
 */
export class ProjectionRunner {
  readonly #deps: RunnerDeps;
  readonly #stopping = new AbortController();
  readonly #turns = new SerialQueue();
  /** Members of all passes, by collection. A removed member leaves its pass before the next write. */
  readonly #members = new Map<string, Member | Building>();
  readonly #running = new Set<Promise<void>>();
  /** The pass at the end of the log; absent while it has no members. */
  #following: Pass | undefined;
  #storing: NodeJS.Timeout | undefined;
  #mostEvents = 0;

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
  }

  has(collection: string): boolean {
    return this.#members.has(collection);
  }

  /** Adds members that are at the same checkpoint. */
  add(members: readonly Member[], from: Checkpoint): void {
    for (const member of members) this.#members.set(member.collection, member);
    const pass = { members: new Set(members), at: from };
    this.#run(() => this.#catchUp(pass));
  }

  /** Builds collections at the same checkpoint in bulk. Afterwards they are ordinary members. */
  build(buildings: readonly Building[], from: Checkpoint): void {
    for (const building of buildings) this.#members.set(building.collection, building);
    const { events, logger, step, failed, opened } = this.#deps;
    const { signal } = this.#stopping;
    const isWanted = (building: Building) => this.#isWanted(building);
    let at = from;
    this.#run(async () => {
      const reached = (of: readonly Building[], checkpoint: Checkpoint): number => {
        at = checkpoint;
        return this.#reached(of, checkpoint);
      };
      const fail = async (building: Building, failure: Error) => {
        this.remove((each) => each === building);
        if (!(failure instanceof Fenced)) await failed(building, failure);
      };
      const deps = { events, signal, logger, step, isWanted, reached, failed: fail };
      const done = await bulkBuild(deps, buildings.filter(isWanted), at);
      const members = await Promise.all(done.built.map((building) => opened(building, done.checkpoint)));
      const wanted = members.filter((_, i) => done.built[i] !== undefined && isWanted(done.built[i]));
      if (wanted.length > 0) this.add(wanted, done.checkpoint);
    }).finally(() => Promise.all(buildings.map(({ load }) => load.close())));
  }

  remove(which: (member: Member | Building) => boolean): void {
    for (const [collection, member] of this.#members) if (which(member)) this.#members.delete(collection);
  }

  /** Stops after the current batches. */
  async stop(): Promise<void> {
    clearTimeout(this.#storing);
    this.#stopping.abort();
    await Promise.all(this.#running);
    // If this fails, the events are folded again.
    if (this.#following !== undefined) await this.#storeCheckpoints(this.#following).catch(() => {});
  }

  /** Repeats `work`, which continues where it stopped, until it succeeds. */
  #run(work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stopping;
    // p-retry does not retry a `TypeError`.
    const wrapped = () =>
      work().catch((error: unknown) => {
        throw new Error('Projecting was interrupted', { cause: error });
      });
    const running = pRetry(wrapped, {
      ...RETRY,
      signal,
      shouldRetry: () => !signal.aborted,
      onFailedAttempt: ({ error, attemptNumber }) => {
        if (signal.aborted) return;
        this.#deps.logger.error({ err: error.cause, attempts: attemptNumber }, 'Projecting was interrupted; retrying');
      },
    }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  async #catchUp(pass: Pass): Promise<void> {
    const { signal } = this.#stopping;
    let read: StoredEvent[] = [];
    for await (const { events, position, caughtUp } of this.#deps.events.subscribe({
      after: pass.at.position,
      signal,
    })) {
      for (const event of events) read.push(event);
      if (!caughtUp && read.length < CATCH_UP_BATCH) continue;
      await this.#write(pass, read, position);
      read = [];
      if (caughtUp || pass.members.size === 0) break;
    }
    if (!signal.aborted && pass.members.size > 0) await this.#inTurn(() => this.#join(pass));
  }

  /** Catches members up with the following pass and adds them to it. */
  async #join(pass: Pass): Promise<void> {
    const following = this.#following;
    const end = following?.at.position ?? pass.at.position;
    if (pass.at.position < end) {
      let rest: StoredEvent[] = [];
      for await (const event of this.#deps.events.readAll({ after: pass.at.position })) {
        if (event.position > end) break;
        if (rest.push(event) < CATCH_UP_BATCH) continue;
        await this.#write(pass, rest, event.position);
        rest = [];
      }
      await this.#write(pass, rest, end);
    }
    await this.#storeCheckpoints(pass);
    if (pass.members.size === 0) return;
    await this.#deps.joined([...pass.members]);
    if (following !== undefined) for (const member of pass.members) following.members.add(member);
    else {
      this.#following = pass;
      this.#run(() => this.#follow(pass));
    }
  }

  /** Folds new events while the pass has members. */
  async #follow(pass: Pass): Promise<void> {
    const { signal } = this.#stopping;
    for await (const { events, position } of this.#deps.events.subscribe({ after: pass.at.position, signal })) {
      const isOver = await this.#inTurn(async () => {
        if (position > pass.at.position) await this.#write(pass, events, position);
        this.#storing ??= setTimeout(() => this.#storeFollowing(), STORE_WITHIN_MS).unref();
        if (pass.members.size > 0) return false;
        this.#following = undefined;
        return true;
      });
      if (isOver || signal.aborted) return;
    }
  }

  #storeFollowing(): void {
    this.#storing = undefined;
    // If it fails, the next batch tries again.
    this.#inTurn(async () => {
      if (this.#following !== undefined) await this.#storeCheckpoints(this.#following);
    }).catch(() => {});
  }

  async #write(pass: Pass, events: readonly StoredEvent[], position: Position): Promise<void> {
    this.#dropLost(pass);
    const to = { position, events: pass.at.events + events.length };
    const failures = new Map(await fold([...pass.members], events, to));
    // Retry failed writes once, in case the store had a temporary problem.
    const again = [...failures.keys()].filter((member) => !isOfEvent(failures.get(member)));
    const still = again.length > 0 ? await fold(again, events, to) : failures;
    for (const member of again) if (!still.has(member)) failures.delete(member);
    await this.#leave(pass, failures);
    pass.at = to;
    if (pass.members.size > 0) this.#reached([...pass.members], to);
  }

  /** Stores the checkpoints of members without recent events. */
  async #storeCheckpoints(pass: Pass): Promise<void> {
    this.#dropLost(pass);
    const behind = [...pass.members].filter(({ checkpoint }) => isBefore(checkpoint, pass.at));
    for (const member of behind) member.changed = new Map();
    await this.#leave(pass, await store(behind, pass.at));
  }

  #dropLost({ members }: Pass): void {
    for (const member of members) if (!this.#isWanted(member)) members.delete(member);
  }

  #isWanted(member: Member | Building): boolean {
    return this.#members.get(member.collection) === member && this.#deps.isHeld();
  }

  async #leave({ members }: Pass, failures: ReadonlyMap<Member, Error>): Promise<void> {
    for (const [member, failure] of failures) {
      // A fenced member is added again at the stored checkpoint if this process still holds its lease.
      if (!(failure instanceof Fenced)) await this.#deps.failed(member, failure);
      this.remove((each) => each === member);
      members.delete(member);
    }
  }

  /** @returns the total number of events, if known */
  #reached(of: readonly { readonly collection: string }[], checkpoint: Checkpoint): number {
    this.#deps.reached(of.map(({ collection }) => [collection, checkpoint]));
    this.#mostEvents = Math.max(this.#mostEvents, checkpoint.events);
    return this.#mostEvents;
  }

  /** Runs batches of the following pass and joins to it one after another. */
  #inTurn<R>(work: () => Promise<R>): Promise<R> {
    return this.#turns.run('following', work);
  }
}

const isOfEvent = (failure: Error | undefined): boolean =>
  failure instanceof ProjectionFailed && failure.event !== undefined;
