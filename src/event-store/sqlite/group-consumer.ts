import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '../../runtime/clock.ts';
import type { Wakeup } from '../../runtime/wakeup.ts';
import { transaction } from '../../sqlite/database.ts';
import type { Consume, HandleEvent } from '../event-store.ts';
import { RejoinBackoff } from '../rejoin-backoff.ts';
import { ANNOUNCE_EVERY_MS, type GroupMembers, hasEnded, type Member, newConsumer } from './group-members.ts';
import type { LogTail, ReadEvent } from './log-tail.ts';
import { type Row, storedEvent } from './stored-event.ts';

/** Delay after a failed transaction (disk full, …). */
const RETRY_DELAY_MS = 250;

/** No lease lasts this long. A later due time was written before the clock was set back, so the event is delivered again. */
const FARTHEST_DUE_MS = 60_000;
const LONGEST_SLEEP_MS = 60_000;
/** Store the checkpoint of a group without matching events after this many log positions. */
const UNSTORED_POSITIONS = 8_192;
/** How often an exclusive consumer stores its checkpoint. After a kill, the events handled since are delivered again. */
const STORE_EVERY_MS = 1_000;
/** How often a joining consumer checks whether the exclusive consumer has started to share. */
const POLL_EVERY_MS = 50;
/** A joining consumer then assumes that an exclusive one, whose process may be alive, is dead. If it is only slow, both may handle the same events. */
const TAKE_OVER_AFTER_MS = 1_000;

/** Leases use the real clock, which `CLOCK_SHIFT` must not move. */
const now = systemClock();

/** An event claimed by this consumer. */
type Claimed = ReadEvent & {
  /** Whether the claim is a row of `deliveries`. */
  isStored: boolean;
};

/**
 * `left`: not in the group. `joining`: waits until the exclusive consumer shares. `shared`: claims are stored in the log file.
 * `exclusive`: claims are kept in memory.
 */
type Membership = 'left' | 'joining' | 'shared' | 'exclusive';

export type GroupsDeps = {
  readonly database: DatabaseSync;
  readonly tail: LogTail;
  readonly members: GroupMembers;
  /** How long events stay claimed by a consumer that no longer renews its leases, in milliseconds. */
  readonly leaseMs: number;
  readonly onError: (error: unknown) => void;
  /** Called when a consumer has left its group because its handler failed. */
  readonly onLeave: (group: string, error: unknown) => void;
};

/**
 * One consumer of a group. A single consumer claims events in memory, without a write for each event, and stores its checkpoint
 * every second. With several consumers, claims are rows of the log file.
 */
export class GroupConsumer {
  readonly #id = newConsumer();
  readonly #group: string;
  readonly #handler: HandleEvent;
  readonly #groups: GroupsDeps;
  readonly #types: readonly string[];
  readonly #concurrency: number;
  readonly #wakeup: Wakeup;
  readonly #statements;
  readonly #closing = new AbortController();
  readonly #backoff: RejoinBackoff;
  /** Claimed, not yet started. */
  readonly #queue: Claimed[] = [];
  readonly #running = new Map<Claimed, Promise<void>>();
  /** Handled, not yet acknowledged in the file. */
  readonly #handled: Claimed[] = [];
  readonly #toRequeue: Claimed[] = [];
  /** The handler error that makes this consumer leave the group. */
  #failure: { readonly error: unknown } | undefined;
  #membership: Membership = 'left';
  #isWriting = false;
  #joiningSince: number | undefined;
  /** The stored checkpoint. Only this consumer moves it while it is exclusive. */
  #checkpoint = 0;
  /** This consumer has nothing left to claim between the checkpoint and this position. */
  #scanned = 0;
  /** When to renew the leases stored in the file. */
  #renewAt = Number.POSITIVE_INFINITY;
  /** When to announce this member again. */
  #announceAt = Number.POSITIVE_INFINITY;
  /** When to store the checkpoint while exclusive. */
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
      // Not limited to this consumer: a handled event is done even if its lease has expired.
      acknowledge: prepare('DELETE FROM deliveries WHERE group_name = ? AND position = ?'),
      claim: prepare(
        `INSERT INTO deliveries (group_name, position, consumer, due) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (group_name, position) DO UPDATE SET consumer = ?3, due = ?4`,
      ),
      requeue: prepare(
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
      await this.#consume();
      this.#groups.tail.changed();
      if (this.#failure === undefined) continue;
      this.#groups.onLeave(this.#group, this.#failure.error);
      this.#failure = undefined;
      await this.#backoff.wait();
    }
    this.#groups.tail.unsubscribe(this.#wakeup);
  }

  /** Runs until the consumer closes or its handler fails. By then, each claimed event is acknowledged or requeued. */
  async #consume(): Promise<void> {
    while (this.#mayClaim() || this.#running.size > 0) {
      try {
        if (this.#hasToWrite()) await this.#write();
        if (this.#membership === 'exclusive') this.#claimInMemory();
        this.#startHandlers();
        if (!this.#hasMore || this.#capacity() === 0) await this.#wakeup.wait(this.#sleepMs());
      } catch (error) {
        // The events stay claimable.
        this.#groups.onError(error);
        await this.#wakeup.wait(RETRY_DELAY_MS);
      }
      // Handlers that finish in the same turn of the event loop share a transaction. The read models of this thread also get
      // their turn here, so handlers need not wait for them.
      await nextTurn();
    }
    // If this fails, the leases expire, and claims that were not stored lie after the checkpoint.
    await this.#write().catch(this.#groups.onError);
    this.#membership = 'left';
    for (const list of [this.#handled, this.#toRequeue, this.#queue]) list.splice(0);
    this.#scanned = 0;
    this.#hasMore = true;
    this.#renewAt = Number.POSITIVE_INFINITY;
    this.#announceAt = Number.POSITIVE_INFINITY;
    this.#storeAt = Number.POSITIVE_INFINITY;
  }

  #mayClaim(): boolean {
    return !this.#closing.signal.aborted && this.#failure === undefined;
  }

  /**
   * How many more events to claim. The limit is twice the concurrency: enough that handlers never wait for the file, and other
   * consumers still get their share.
   */
  #capacity(): number {
    return this.#mayClaim() ? this.#concurrency * 2 - this.#queue.length - this.#running.size : 0;
  }

  #sleepMs(): number {
    const time = now();
    const poll = this.#membership === 'joining' ? time + POLL_EVERY_MS : Number.POSITIVE_INFINITY;
    const until = Math.min(this.#nextDue, this.#renewAt, this.#announceAt, this.#storeAt, poll);
    return Math.min(Math.max(0, until - time), LONGEST_SLEEP_MS);
  }

  #startHandlers(): void {
    while (this.#mayClaim() && this.#running.size < this.#concurrency) {
      const claimed = this.#queue.shift();
      if (claimed === undefined) return;
      this.#running.set(claimed, this.#handle(claimed));
    }
  }

  async #handle(claimed: Claimed): Promise<void> {
    try {
      await this.#handler(claimed.event);
      // A running transaction may be storing the claim.
      if (claimed.isStored || this.#isWriting) this.#handled.push(claimed);
      this.#backoff.reset();
    } catch (error) {
      this.#toRequeue.push(claimed);
      this.#failure ??= { error };
      // Other consumers can take the queued events while the running handlers finish.
      this.#toRequeue.push(...this.#queue.splice(0));
    }
    this.#running.delete(claimed);
    this.#startHandlers();
    if (this.#handled.length > 0 || this.#hasMore || !this.#mayClaim()) this.#wakeup.wake();
  }

  /** Whether there is anything to write. Only reads, because most commits to the log do not concern this group. */
  #hasToWrite(): boolean {
    if (this.#handled.length > 0 || this.#toRequeue.length > 0) return true;
    const time = now();
    if (time >= Math.min(this.#renewAt, this.#announceAt)) return true;
    if (this.#membershipAmong(this.#othersOf(this.#groups.members.known(this.#group, time))) !== this.#membership)
      return true;
    if (this.#membership !== 'exclusive') this.#nextDue = this.#findNextDue(time);
    const capacity = this.#capacity();
    if (capacity > 0 && this.#nextDue <= time) return true;
    if (this.#membership === 'exclusive') return this.#hasToStore(time);
    return this.#membership === 'shared' && capacity > 0 && this.#findNew();
  }

  /** Whether an exclusive consumer should store its checkpoint now. */
  #hasToStore(time: number): boolean {
    const isTime = time >= this.#storeAt || this.#scanned - this.#checkpoint >= UNSTORED_POSITIONS;
    if (!isTime || this.#safeCheckpoint() > this.#checkpoint) return isTime;
    // The oldest event in progress holds the checkpoint back.
    this.#storeAt = time + STORE_EVERY_MS;
    return false;
  }

  #membershipAmong(others: readonly Member[]): Membership {
    if (!this.#mayClaim()) return 'left';
    const claiming = this.#hasWaited() ? others.filter(({ isExclusive }) => !isExclusive) : others;
    if (claiming.length === 0) return 'exclusive';
    return claiming.some(({ isExclusive }) => isExclusive) ? 'joining' : 'shared';
  }

  /** The other members. An exclusive one whose process has ended has left no claims behind. */
  #othersOf(members: readonly Member[]): Member[] {
    return members.filter(({ consumer, isExclusive }) => consumer !== this.#id && !(isExclusive && hasEnded(consumer)));
  }

  #hasWaited(): boolean {
    return this.#joiningSince !== undefined && performance.now() - this.#joiningSince > TAKE_OVER_AFTER_MS;
  }

  #inProgress(): Claimed[] {
    return [...this.#queue, ...this.#running.keys()];
  }

  /** The position before the first event whose claim exists only in memory. */
  #safeCheckpoint(): number {
    return this.#inProgress()
      .filter(({ isStored }) => !isStored)
      .reduce((lowest, { position }) => Math.min(lowest, position - 1), this.#scanned);
  }

  /** Whether there is an event to claim after the checkpoint, or enough other events that the checkpoint should advance. */
  #findNew(): boolean {
    const checkpoint = this.#readCheckpoint();
    const { events, reached, hasMore } = this.#groups.tail.read(Math.max(checkpoint, this.#scanned), this.#types, 1);
    const [first] = events;
    this.#scanned = first === undefined ? reached : first.position - 1;
    this.#hasMore = first !== undefined || hasMore;
    return first !== undefined || this.#scanned - checkpoint >= UNSTORED_POSITIONS;
  }

  #claimInMemory(): void {
    const { events, reached, hasMore } = this.#groups.tail.read(this.#scanned, this.#types, this.#capacity());
    this.#queue.push(...events.map((read) => ({ ...read, isStored: false })));
    this.#scanned = reached;
    this.#hasMore = hasMore;
    if (events.length > 0 && this.#storeAt === Number.POSITIVE_INFINITY) this.#storeAt = now() + STORE_EVERY_MS;
  }

  async #write(): Promise<void> {
    const before = this.#membership;
    this.#isWriting = true;
    try {
      const done = await transaction(this.#groups.database, 'lazy', () => this.#step());
      this.#handled.splice(0, done.handled);
      this.#toRequeue.splice(0, done.requeued);
      if (!this.#mayClaim()) this.#queue.splice(0);
      for (const claimed of done.stored) claimed.isStored = true;
      this.#queue.push(...done.claimed);
      this.#membership = done.membership;
      this.#scanned = done.scanned;
      this.#checkpoint = done.checkpoint;
      if (done.membership !== before) this.#groups.tail.changed();
    } finally {
      this.#isWriting = false;
    }
    this.#scheduleWrites(before);
  }

  /** Sets the times of the next writes. */
  #scheduleWrites(before: Membership): void {
    const time = now();
    const { leaseMs } = this.#groups;
    if (this.#membership !== before)
      this.#joiningSince = this.#membership === 'joining' ? performance.now() : undefined;
    if (this.#membership !== before || time >= this.#announceAt) this.#announceAt = time + ANNOUNCE_EVERY_MS;
    if (!this.#inProgress().some(({ isStored }) => isStored)) this.#renewAt = Number.POSITIVE_INFINITY;
    else if (time >= this.#renewAt || this.#renewAt === Number.POSITIVE_INFINITY) this.#renewAt = time + leaseMs / 3;
    const isAllStored = this.#membership !== 'exclusive' || this.#checkpoint >= this.#scanned;
    this.#storeAt = isAllStored ? Number.POSITIVE_INFINITY : time + STORE_EVERY_MS;
    this.#nextDue = this.#findNextDue(time);
  }

  /** One transaction: stores what was handled, renews leases, claims events up to the capacity. */
  #step() {
    const time = now();
    const leaseEnd = time + this.#groups.leaseMs;
    const settled = this.#settle(time);
    const membership = this.#updateMembership(time);
    const stored = this.#membership === 'exclusive' ? this.#storeClaims(membership, leaseEnd) : [];
    if (time >= this.#renewAt) {
      for (const { position, isStored } of this.#inProgress()) {
        if (isStored) this.#statements.renew.run(leaseEnd, this.#group, position, this.#id);
      }
    }
    const capacity = this.#capacity();
    const claimed = capacity > 0 ? this.#claimDue(time, leaseEnd, capacity) : [];
    if (membership === 'shared' && capacity > claimed.length) {
      claimed.push(...this.#claimNew(leaseEnd, capacity - claimed.length));
    }
    const checkpoint = this.#readCheckpoint();
    return { claimed, stored, membership, checkpoint, scanned: Math.max(this.#scanned, checkpoint), ...settled };
  }

  #settle(time: number) {
    for (const { position } of this.#handled) this.#statements.acknowledge.run(this.#group, position);
    const requeued = [...this.#toRequeue, ...(this.#mayClaim() ? [] : this.#queue)];
    for (const { position } of requeued) this.#statements.requeue.run(this.#group, position, time, this.#id);
    return { handled: this.#handled.length, requeued: this.#toRequeue.length };
  }

  /** Reads the other members, decides this consumer's membership and announces it. */
  #updateMembership(time: number): Membership {
    const { members } = this.#groups;
    const others = this.#othersOf(members.read(this.#group, time));
    const membership = this.#membershipAmong(others);
    if (this.#hasWaited()) {
      for (const { consumer, isExclusive } of others) if (isExclusive) members.remove(this.#group, consumer);
    }
    if (membership === 'left') members.remove(this.#group, this.#id);
    else if (membership !== this.#membership || time >= this.#announceAt) {
      if (membership === 'exclusive') members.clear(this.#group);
      members.announce(this.#group, { consumer: this.#id, isExclusive: membership === 'exclusive' }, time);
    }
    return membership;
  }

  /**
   * Stores the checkpoint of an exclusive consumer and, once it shares the group, its claims.
   * @returns the stored claims
   */
  #storeClaims(membership: Membership, leaseEnd: number): Claimed[] {
    const claims = membership === 'exclusive' ? [] : this.#inProgress().filter(({ isStored }) => !isStored);
    const held = this.#mayClaim() ? claims : claims.filter((claimed) => this.#running.has(claimed));
    for (const { position } of held) this.#statements.claim.run(this.#group, position, this.#id, leaseEnd);
    this.#statements.advance.run(membership === 'exclusive' ? this.#safeCheckpoint() : this.#scanned, this.#group);
    return held;
  }

  /** When the next stored event becomes claimable. Infinity if there is none, or no capacity. */
  #findNextDue(time: number): number {
    const due = this.#statements.nextDue.get(this.#group)?.due ?? null;
    if (due === null || this.#capacity() === 0) return Number.POSITIVE_INFINITY;
    return Number(due) > time + FARTHEST_DUE_MS ? time : Number(due);
  }

  /** Claims requeued events and those whose lease has expired. */
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
