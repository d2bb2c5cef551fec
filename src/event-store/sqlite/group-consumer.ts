import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '../../runtime/clock.ts';
import type { Wakeup } from '../../runtime/wakeup.ts';
import { transaction } from '../../sqlite/database.ts';
import type { Consume, HandleEvent } from '../event-store.ts';
import { RejoinBackoff } from '../rejoin-backoff.ts';
import { type GroupMembers, type Member, SAY_EVERY_MS } from './group-members.ts';
import type { LogTail, ReadEvent } from './log-tail.ts';
import { type Row, storedEvent } from './stored-event.ts';

/** Delay after a failed transaction (disk full, …). */
const RETRY_DELAY_MS = 250;

/**
 * No lease lasts this long. One that seems to was written before the clock was set back, by a process that may be dead; an
 * event that is handed out twice does no harm.
 */
const FARTHEST_DUE_MS = 60_000;
/** How long an idle consumer sleeps at most. */
const LONGEST_SLEEP_MS = 60_000;
/** How far a group that gets nothing moves on before that is stored, in log positions. */
const UNSTORED_POSITIONS = 8_192;
/** How often a consumer that is alone stores how far it is. A kill hands out again what it has handled since. */
const STORE_EVERY_MS = 1_000;
/** How often one that waits for another, which is alone, looks whether that one has heard of it. */
const LOOK_EVERY_MS = 50;
/** How long it waits. One that has not answered by then is dead, or so busy that both may handle what it holds. */
const TAKE_OVER_AFTER_MS = 1_000;

/** Leases use the real clock, which `CLOCK_SHIFT` must not move. */
const now = systemClock();

/** An event claimed by this consumer. */
type Claimed = ReadEvent & {
  /** Whether the file says that it is claimed. */
  isStored: boolean;
};

/**
 * `out` of the group; `waiting` until another one that is alone has heard of this one; `sharing` it: claims are stored, for others
 * to see; `alone`: they are not.
 */
type Standing = 'out' | 'waiting' | 'sharing' | 'alone';

export type GroupsDeps = {
  readonly database: DatabaseSync;
  readonly tail: LogTail;
  readonly members: GroupMembers;
  /** How long events stay claimed by a consumer that no longer renews its leases, in milliseconds. */
  readonly leaseMs: number;
  readonly onError: (error: unknown) => void;
  /** A consumer could not go on and left its group. */
  readonly onLeave: (group: string, error: unknown) => void;
};

/**
 * One consumer of a group. While it is the only one it claims events in its memory, so that an event costs no write; the others
 * see its checkpoint, which it stores now and then. As soon as there is another one, claims are rows of the file.
 */
export class GroupConsumer {
  readonly #id = randomUUID();
  readonly #group: string;
  readonly #handler: HandleEvent;
  readonly #groups: GroupsDeps;
  readonly #types: readonly string[];
  readonly #concurrency: number;
  readonly #wakeup: Wakeup;
  readonly #statements;
  readonly #closing = new AbortController();
  readonly #backoff: RejoinBackoff;
  /** Claimed but not yet being handled. */
  readonly #queue: Claimed[] = [];
  readonly #running = new Map<Claimed, Promise<void>>();
  /** Handled, but the file does not say so yet. */
  readonly #handled: Claimed[] = [];
  /** What this consumer could not handle for now. */
  readonly #notHandled: Claimed[] = [];
  /** Why this consumer is leaving the group. */
  #obstacle: { readonly error: unknown } | undefined;
  #standing: Standing = 'out';
  #isWriting = false;
  #waitingSince: number | undefined;
  /** As stored. While this consumer is alone, nobody else moves it. */
  #checkpoint = 0;
  /** No event of the group's types that this consumer might still claim lies between the checkpoint and this position. */
  #scanned = 0;
  /** When to renew the leases of what it has claimed in the file. */
  #renewAt = Number.POSITIVE_INFINITY;
  /** When to say again that it takes part. */
  #sayAt = Number.POSITIVE_INFINITY;
  /** When to store how far it is, while it is alone. */
  #storeAt = Number.POSITIVE_INFINITY;
  #nextDue = Number.POSITIVE_INFINITY;
  #hasMore = true;
  readonly #ended: Promise<void>;

  constructor(group: string, options: Consume, handler: HandleEvent, groups: GroupsDeps) {
    this.#group = group;
    this.#handler = handler;
    this.#groups = groups;
    this.#types = options.types;
    this.#concurrency = options.concurrency ?? 8;
    this.#backoff = new RejoinBackoff(options.ready, this.#closing.signal);
    this.#wakeup = groups.tail.subscribe();
    const prepare = (sql: string): StatementSync => groups.database.prepare(sql);
    this.#statements = {
      // Not fenced by the consumer: an event that was handled is done, even if the lease had expired by then.
      acknowledge: prepare('DELETE FROM deliveries WHERE group_name = ? AND position = ?'),
      claim: prepare(
        `INSERT INTO deliveries (group_name, position, consumer, due) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (group_name, position) DO UPDATE SET consumer = ?3, due = ?4`,
      ),
      giveBack: prepare(
        `INSERT INTO deliveries (group_name, position, consumer, due) VALUES (?1, ?2, NULL, ?3)
         ON CONFLICT (group_name, position) DO UPDATE SET consumer = NULL, due = ?3 WHERE consumer = ?4`,
      ),
      renew: prepare('UPDATE deliveries SET due = ? WHERE group_name = ? AND position = ? AND consumer = ?'),
      due: prepare(
        `SELECT events.* FROM deliveries JOIN events USING (position)
         WHERE group_name = ? AND (due <= ? OR due > ?) ORDER BY due, position LIMIT ?`,
      ),
      checkpoint: prepare('SELECT checkpoint FROM groups WHERE name = ?'),
      advance: prepare('UPDATE groups SET checkpoint = ?1 WHERE name = ?2 AND checkpoint < ?1'),
      nextDue: prepare('SELECT min(due) AS due FROM deliveries WHERE group_name = ?'),
    };
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wakeup.wake();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#takePart();
      this.#groups.tail.changed();
      if (this.#obstacle === undefined) continue;
      this.#groups.onLeave(this.#group, this.#obstacle.error);
      this.#obstacle = undefined;
      await this.#backoff.wait();
    }
    this.#groups.tail.unsubscribe(this.#wakeup);
  }

  /** Ends once the consumer is closed or cannot go on, with everything it held acknowledged or given back. */
  async #takePart(): Promise<void> {
    while (this.#mayTake() || this.#running.size > 0) {
      try {
        if (this.#hasToWrite()) await this.#write();
        if (this.#standing === 'alone') this.#takeAlone();
        this.#startHandlers();
        if (!this.#hasMore || this.#capacity() === 0) await this.#wakeup.wait(this.#sleepMs());
      } catch (error) {
        // Whatever failed, the events remain claimable.
        this.#groups.onError(error);
        await this.#wakeup.wait(RETRY_DELAY_MS);
      }
      // Handlers that finish in the same turn of the event loop share a transaction. And what subscribes to the same events in this
      // thread has handled them by then: the read models, for which handlers would wait.
      await nextTurn();
    }
    // If this fails, the leases expire, and what is not in the file lies behind the checkpoint.
    await this.#write().catch(this.#groups.onError);
    this.#standing = 'out';
    for (const list of [this.#handled, this.#notHandled, this.#queue]) list.splice(0);
    this.#scanned = 0;
    this.#hasMore = true;
    this.#renewAt = Number.POSITIVE_INFINITY;
    this.#sayAt = Number.POSITIVE_INFINITY;
    this.#storeAt = Number.POSITIVE_INFINITY;
  }

  #mayTake(): boolean {
    return !this.#closing.signal.aborted && this.#obstacle === undefined;
  }

  /**
   * How many more events to claim: up to twice the concurrency in all, so that handlers never wait for the file, but no more,
   * so that other consumers get their share.
   */
  #capacity(): number {
    return this.#mayTake() ? this.#concurrency * 2 - this.#queue.length - this.#running.size : 0;
  }

  #sleepMs(): number {
    const time = now();
    const look = this.#standing === 'waiting' ? time + LOOK_EVERY_MS : Number.POSITIVE_INFINITY;
    const until = Math.min(this.#nextDue, this.#renewAt, this.#sayAt, this.#storeAt, look);
    return Math.min(Math.max(0, until - time), LONGEST_SLEEP_MS);
  }

  #startHandlers(): void {
    while (this.#mayTake() && this.#running.size < this.#concurrency) {
      const claimed = this.#queue.shift();
      if (claimed === undefined) return;
      this.#running.set(claimed, this.#handle(claimed));
    }
  }

  async #handle(claimed: Claimed): Promise<void> {
    try {
      await this.#handler(claimed.event);
      // A transaction that is under way may be storing the claim.
      if (claimed.isStored || this.#isWriting) this.#handled.push(claimed);
      this.#backoff.reset();
    } catch (error) {
      this.#notHandled.push(claimed);
      this.#obstacle ??= { error };
      // What no handler has started goes to others at once, while the running ones finish.
      this.#notHandled.push(...this.#queue.splice(0));
    }
    this.#running.delete(claimed);
    this.#startHandlers();
    if (this.#handled.length > 0 || this.#hasMore || !this.#mayTake()) this.#wakeup.wake();
  }

  /** Whether there is anything to write. Reads only: most commits to the log are no business of this group. */
  #hasToWrite(): boolean {
    if (this.#handled.length > 0 || this.#notHandled.length > 0) return true;
    const time = now();
    if (time >= Math.min(this.#renewAt, this.#sayAt)) return true;
    if (this.#standingAmong(this.#othersOf(this.#groups.members.known(this.#group, time))) !== this.#standing)
      return true;
    if (this.#standing !== 'alone') this.#nextDue = this.#findNextDue(time);
    const capacity = this.#capacity();
    if (capacity > 0 && this.#nextDue <= time) return true;
    if (this.#standing === 'alone') return this.#hasToStore(time);
    return this.#standing === 'sharing' && capacity > 0 && this.#findNew();
  }

  /** Whether it is time for the checkpoint of a consumer that is alone. */
  #hasToStore(time: number): boolean {
    const isTime = time >= this.#storeAt || this.#scanned - this.#checkpoint >= UNSTORED_POSITIONS;
    if (!isTime || this.#lowest() > this.#checkpoint) return isTime;
    // Everything waits for what is in progress.
    this.#storeAt = time + STORE_EVERY_MS;
    return false;
  }

  #standingAmong(others: readonly Member[]): Standing {
    if (!this.#mayTake()) return 'out';
    const claiming = this.#hasWaited() ? others.filter(({ isAlone }) => !isAlone) : others;
    if (claiming.length === 0) return 'alone';
    return claiming.some(({ isAlone }) => isAlone) ? 'waiting' : 'sharing';
  }

  #othersOf(members: readonly Member[]): Member[] {
    return members.filter(({ consumer }) => consumer !== this.#id);
  }

  #hasWaited(): boolean {
    return this.#waitingSince !== undefined && performance.now() - this.#waitingSince > TAKE_OVER_AFTER_MS;
  }

  #inProgress(): Claimed[] {
    return [...this.#queue, ...this.#running.keys()];
  }

  /** Up to where nothing is in progress that the file does not know of. */
  #lowest(): number {
    return this.#inProgress()
      .filter(({ isStored }) => !isStored)
      .reduce((lowest, { position }) => Math.min(lowest, position - 1), this.#scanned);
  }

  /** Whether there is something to claim behind the checkpoint, or so much else that the checkpoint should move on. */
  #findNew(): boolean {
    const checkpoint = this.#readCheckpoint();
    const { events, reached, hasMore } = this.#groups.tail.read(Math.max(checkpoint, this.#scanned), this.#types, 1);
    const [first] = events;
    this.#scanned = first === undefined ? reached : first.position - 1;
    this.#hasMore = first !== undefined || hasMore;
    return first !== undefined || this.#scanned - checkpoint >= UNSTORED_POSITIONS;
  }

  /** Claims events of which the file is not told. */
  #takeAlone(): void {
    const { events, reached, hasMore } = this.#groups.tail.read(this.#scanned, this.#types, this.#capacity());
    this.#queue.push(...events.map((read) => ({ ...read, isStored: false })));
    this.#scanned = reached;
    this.#hasMore = hasMore;
    if (events.length > 0 && this.#storeAt === Number.POSITIVE_INFINITY) this.#storeAt = now() + STORE_EVERY_MS;
  }

  async #write(): Promise<void> {
    const before = this.#standing;
    this.#isWriting = true;
    try {
      const done = await transaction(this.#groups.database, 'lazy', () => this.#step());
      this.#handled.splice(0, done.handled);
      this.#notHandled.splice(0, done.notHandled);
      if (!this.#mayTake()) this.#queue.splice(0);
      for (const claimed of done.published) claimed.isStored = true;
      this.#queue.push(...done.claimed);
      this.#standing = done.standing;
      this.#scanned = done.scanned;
      this.#checkpoint = done.checkpoint;
      if (done.standing !== before) this.#groups.tail.changed();
    } finally {
      this.#isWriting = false;
    }
    this.#plan(before);
  }

  /** When there will be something to write again. */
  #plan(before: Standing): void {
    const time = now();
    const { leaseMs } = this.#groups;
    if (this.#standing !== before) this.#waitingSince = this.#standing === 'waiting' ? performance.now() : undefined;
    if (this.#standing !== before || time >= this.#sayAt) this.#sayAt = time + SAY_EVERY_MS;
    if (!this.#inProgress().some(({ isStored }) => isStored)) this.#renewAt = Number.POSITIVE_INFINITY;
    else if (time >= this.#renewAt || this.#renewAt === Number.POSITIVE_INFINITY) this.#renewAt = time + leaseMs / 3;
    const isAllStored = this.#standing !== 'alone' || this.#checkpoint >= this.#scanned;
    this.#storeAt = isAllStored ? Number.POSITIVE_INFINITY : time + STORE_EVERY_MS;
    this.#nextDue = this.#findNextDue(time);
  }

  /** One transaction: stores what was handled, renews leases, claims events up to the capacity. */
  #step() {
    const time = now();
    const leaseEnd = time + this.#groups.leaseMs;
    const settled = this.#settle(time);
    const standing = this.#regard(time);
    const published = this.#standing === 'alone' ? this.#publish(standing, leaseEnd) : [];
    if (time >= this.#renewAt) {
      for (const { position, isStored } of this.#inProgress()) {
        if (isStored) this.#statements.renew.run(leaseEnd, this.#group, position, this.#id);
      }
    }
    const capacity = this.#capacity();
    const claimed = capacity > 0 ? this.#claimDue(time, leaseEnd, capacity) : [];
    if (standing === 'sharing' && capacity > claimed.length) {
      claimed.push(...this.#claimNew(leaseEnd, capacity - claimed.length));
    }
    const checkpoint = this.#readCheckpoint();
    return { claimed, published, standing, checkpoint, scanned: Math.max(this.#scanned, checkpoint), ...settled };
  }

  #settle(time: number) {
    for (const { position } of this.#handled) this.#statements.acknowledge.run(this.#group, position);
    const given = [...this.#notHandled, ...(this.#mayTake() ? [] : this.#queue)];
    for (const { position } of given) this.#statements.giveBack.run(this.#group, position, time, this.#id);
    return { handled: this.#handled.length, notHandled: this.#notHandled.length };
  }

  /** Looks who else takes part, and says what this one does from now on. */
  #regard(time: number): Standing {
    const { members } = this.#groups;
    const others = this.#othersOf(members.read(this.#group, time));
    const standing = this.#standingAmong(others);
    if (this.#hasWaited()) {
      for (const { consumer, isAlone } of others) if (isAlone) members.remove(this.#group, consumer);
    }
    if (standing === 'out') members.remove(this.#group, this.#id);
    else if (standing !== this.#standing || time >= this.#sayAt) {
      if (standing === 'alone') members.clear(this.#group);
      members.say(this.#group, { consumer: this.#id, isAlone: standing === 'alone' }, time);
    }
    return standing;
  }

  /**
   * Tells the file how far a consumer is that was alone, and, if it no longer is, what it has claimed.
   * @returns the claims that the file knows of from now on
   */
  #publish(standing: Standing, leaseEnd: number): Claimed[] {
    const claims = standing === 'alone' ? [] : this.#inProgress().filter(({ isStored }) => !isStored);
    const held = this.#mayTake() ? claims : claims.filter((claimed) => this.#running.has(claimed));
    for (const { position } of held) this.#statements.claim.run(this.#group, position, this.#id, leaseEnd);
    this.#statements.advance.run(standing === 'alone' ? this.#lowest() : this.#scanned, this.#group);
    return held;
  }

  /** When there will be something to claim again. Infinity while there is no room for it, or nothing. */
  #findNextDue(time: number): number {
    const due = this.#statements.nextDue.get(this.#group)?.due ?? null;
    if (due === null || this.#capacity() === 0) return Number.POSITIVE_INFINITY;
    return Number(due) > time + FARTHEST_DUE_MS ? time : Number(due);
  }

  /** Claims events that were given back or whose lease has expired. */
  #claimDue(time: number, leaseEnd: number, capacity: number): Claimed[] {
    const rows: Row[] = this.#statements.due.all(this.#group, time, time + FARTHEST_DUE_MS, capacity);
    return rows.map((row) => this.#claim({ position: Number(row.position), event: storedEvent(row) }, leaseEnd));
  }

  #claimNew(leaseEnd: number, capacity: number): Claimed[] {
    const checkpoint = this.#readCheckpoint();
    const from = Math.max(checkpoint, this.#scanned);
    const { events, reached, hasMore } = this.#groups.tail.read(from, this.#types, capacity);
    this.#statements.advance.run(reached, this.#group);
    this.#hasMore = hasMore;
    return events.map((read) => this.#claim(read, leaseEnd));
  }

  #claim(read: ReadEvent, leaseEnd: number): Claimed {
    this.#statements.claim.run(this.#group, read.position, this.#id, leaseEnd);
    return { ...read, isStored: true };
  }

  #readCheckpoint(): number {
    return Number(this.#statements.checkpoint.get(this.#group)?.checkpoint ?? 0);
  }
}
