import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '../../runtime/clock.ts';
import type { Wakeup } from '../../runtime/wakeup.ts';
import { transaction } from '../../sqlite/database.ts';
import { Absence } from '../absence.ts';
import type { Consume, Consumer, CreateGroup, ParkedEvent, Position, StoredEvent } from '../event-store.ts';
import type { LogChanges } from './log-changes.ts';
import { numberOf, positionOf, type Row, storedEvent } from './stored-event.ts';

/** Log positions scanned for new events at once. */
const WINDOW = 8_192;
/** Delay after a failed transaction (disk full, …). */
const RETRY_DELAY_MS = 250;

/**
 * No lease lasts this long. One that seems to was written before the clock was set back, by a process that may be dead; an
 * event that is handed out twice does no harm.
 */
const FARTHEST_DUE_MS = 60_000;
/** How long an idle consumer sleeps at most. */
const LONGEST_SLEEP_MS = 60_000;

/** Leases use the real clock, which `CLOCK_SHIFT` must not move. */
const now = systemClock();

type Handler = (event: StoredEvent) => Promise<void>;

/** An event claimed by this consumer. */
type Claimed = { readonly position: number; readonly event: StoredEvent };

export type GroupsDeps = {
  readonly database: DatabaseSync;
  readonly changes: LogChanges;
  /** How long events stay claimed by a consumer that no longer renews its leases, in milliseconds. */
  readonly leaseMs: number;
  readonly onError: (error: unknown) => void;
  /** A consumer could not go on and left its group. */
  readonly onLeave: (group: string, error: unknown) => void;
};

/**
 * Persistent subscriptions: consumer groups that keep their state in the log file. Commits are lazy: losing the last ones
 * redelivers events, but loses none (docs/decisions/embedded-log.md).
 */
export class ConsumerGroups {
  readonly #deps: GroupsDeps;
  readonly #consumers = new Set<GroupConsumer>();
  readonly #create: StatementSync;
  readonly #move: StatementSync;
  readonly #forget: StatementSync;
  readonly #position: StatementSync;
  readonly #parked: StatementSync;

  constructor(deps: GroupsDeps) {
    this.#deps = deps;
    const { database } = deps;
    this.#create = database.prepare('INSERT OR IGNORE INTO groups (name, checkpoint) VALUES (?, ?)');
    this.#move = database.prepare(
      'INSERT INTO groups (name, checkpoint) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET checkpoint = excluded.checkpoint',
    );
    this.#forget = database.prepare('DELETE FROM deliveries WHERE group_name = ? AND parked_at IS NULL');
    // Below the checkpoint, only events with a row in deliveries are not done with.
    this.#position = database.prepare(
      `SELECT min(checkpoint, ifnull((SELECT min(position) - 1 FROM deliveries WHERE group_name = name AND parked_at IS NULL),
         checkpoint)) AS position FROM groups WHERE name = ?`,
    );
    this.#parked = database.prepare(
      `SELECT events.*, reason, parked_at FROM deliveries JOIN events USING (position)
       WHERE group_name = ? AND parked_at IS NOT NULL AND position > ? ORDER BY position LIMIT 256`,
    );
  }

  async create(group: string, { after }: CreateGroup): Promise<void> {
    await transaction(this.#deps.database, 'lazy', () => this.#create.run(group, numberOf(after)));
  }

  async move(group: string, { after }: CreateGroup): Promise<void> {
    await transaction(this.#deps.database, 'durable', () => {
      this.#move.run(group, numberOf(after));
      this.#forget.run(group);
    });
  }

  async position(group: string): Promise<Position | undefined> {
    const found = this.#position.get(group);
    return found === undefined ? undefined : positionOf(Number(found.position));
  }

  async consume(group: string, options: Consume, handler: Handler): Promise<Consumer> {
    await transaction(this.#deps.database, 'lazy', () => this.#create.run(group, 0));
    const consumer = new GroupConsumer(group, options, handler, this.#deps);
    this.#consumers.add(consumer);
    return {
      close: async () => {
        await consumer.close();
        this.#consumers.delete(consumer);
      },
    };
  }

  async *parked(group: string): AsyncGenerator<ParkedEvent> {
    let after = 0;
    for (;;) {
      const rows = this.#parked.all(group, after);
      for (const row of rows) {
        const parkedAt = new Date(Number(row.parked_at)).toISOString();
        yield { event: storedEvent(row), reason: String(row.reason), parkedAt };
        after = Number(row.position);
      }
      if (rows.length === 0) return;
      await nextTurn();
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
  }
}

class GroupConsumer {
  readonly #id = randomUUID();
  readonly #group: string;
  readonly #handler: Handler;
  readonly #groups: GroupsDeps;
  readonly #types: readonly string[];
  readonly #concurrency: number;
  readonly #wakeup: Wakeup;
  readonly #statements;
  readonly #closing = new AbortController();
  readonly #absence: Absence;
  /** Claimed but not yet being handled. */
  readonly #queue: Claimed[] = [];
  readonly #running = new Map<Claimed, Promise<void>>();
  /** Handled, but not yet acknowledged. */
  readonly #handled: Claimed[] = [];
  /** What this consumer could not handle for now. */
  readonly #notHandled: Claimed[] = [];
  /** Why this consumer is leaving the group. */
  #obstacle: { readonly error: unknown } | undefined;
  /** No event of the group's types lies between the stored checkpoint and this position. */
  #scanned = 0;
  #renewAt = Number.POSITIVE_INFINITY;
  #nextDue = Number.POSITIVE_INFINITY;
  #hasMore = true;
  readonly #ended: Promise<void>;

  constructor(group: string, options: Consume, handler: Handler, groups: GroupsDeps) {
    this.#group = group;
    this.#handler = handler;
    this.#groups = groups;
    this.#types = options.types;
    this.#concurrency = options.concurrency ?? 8;
    this.#absence = new Absence(options.ready, this.#closing.signal);
    this.#wakeup = groups.changes.subscribe();
    const filter = `type IN (${options.types.map(() => '?').join(', ')})`;
    const prepare = (sql: string): StatementSync => groups.database.prepare(sql);
    this.#statements = {
      // Not fenced by the consumer: an event that was handled is done, even if the lease had expired by then.
      acknowledge: prepare('DELETE FROM deliveries WHERE group_name = ? AND position = ?'),
      giveBack: prepare(
        'UPDATE deliveries SET consumer = NULL, due = ? WHERE group_name = ? AND position = ? AND consumer = ?',
      ),
      renew: prepare('UPDATE deliveries SET due = ? WHERE group_name = ? AND position = ? AND consumer = ?'),
      due: prepare(
        `SELECT events.* FROM deliveries JOIN events USING (position)
         WHERE group_name = ? AND (due <= ? OR due > ?) ORDER BY due, position LIMIT ?`,
      ),
      reclaim: prepare(
        'UPDATE deliveries SET consumer = ?, attempts = attempts + 1, due = ? WHERE group_name = ? AND position = ?',
      ),
      checkpoint: prepare('SELECT checkpoint FROM groups WHERE name = ?'),
      end: prepare('SELECT max(position) AS position FROM events'),
      firstNew: prepare(
        `SELECT position FROM events WHERE position > ? AND position <= ? AND ${filter} ORDER BY position LIMIT 1`,
      ),
      newEvents: prepare(
        `SELECT * FROM events WHERE position > ? AND position <= ? AND ${filter} ORDER BY position LIMIT ?`,
      ),
      claim: prepare('INSERT INTO deliveries (group_name, position, consumer, attempts, due) VALUES (?, ?, ?, 1, ?)'),
      advance: prepare('UPDATE groups SET checkpoint = ? WHERE name = ?'),
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
      this.#groups.changes.committed();
      if (this.#obstacle === undefined) continue;
      this.#groups.onLeave(this.#group, this.#obstacle.error);
      this.#obstacle = undefined;
      await this.#absence.wait();
    }
    this.#groups.changes.unsubscribe(this.#wakeup);
  }

  /** Ends once the consumer is closed or cannot go on, with everything it held acknowledged or given back. */
  async #takePart(): Promise<void> {
    while (this.#mayTake() || this.#running.size > 0) {
      try {
        if (this.#hasWork()) {
          const { claimed, ...done } = await transaction(this.#groups.database, 'lazy', () => this.#step());
          this.#forget(done);
          this.#queue.push(...claimed);
          this.#startHandlers();
        }
        if (!this.#hasMore || this.#capacity() === 0) {
          const until = Math.min(this.#nextDue, this.#renewAt) - now();
          await this.#wakeup.wait(Math.min(Math.max(0, until), LONGEST_SLEEP_MS));
        }
      } catch (error) {
        // Whatever failed, the events remain claimable.
        this.#groups.onError(error);
        await this.#wakeup.wait(RETRY_DELAY_MS);
      }
      // Handlers that finish in the same turn of the event loop share a transaction.
      await nextTurn();
    }
    // If this fails, the leases expire.
    await transaction(this.#groups.database, 'lazy', () => this.#settle()).catch(this.#groups.onError);
    this.#forget({ handled: this.#handled.length, notHandled: this.#notHandled.length });
    this.#renewAt = Number.POSITIVE_INFINITY;
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
      this.#handled.push(claimed);
      this.#absence.over();
    } catch (error) {
      this.#notHandled.push(claimed);
      this.#obstacle ??= { error };
      // What no handler has started goes to others at once, while the running ones finish.
      this.#notHandled.push(...this.#queue.splice(0));
    }
    this.#running.delete(claimed);
    this.#startHandlers();
    this.#wakeup.wake();
  }

  /** Whether there is anything to write. Reads only: most commits to the log are no business of this group. */
  #hasWork(): boolean {
    if (this.#handled.length > 0 || this.#notHandled.length > 0) return true;
    const time = now();
    if (time >= this.#renewAt) return true;
    const capacity = this.#capacity();
    this.#nextDue = this.#findNextDue(time);
    return capacity > 0 && (this.#nextDue <= time || this.#findNew());
  }

  /** Whether there is something to claim behind the checkpoint, or so much else that the checkpoint should move on. */
  #findNew(): boolean {
    const checkpoint = this.#checkpoint();
    const end = this.#end();
    const from = Math.max(checkpoint, this.#scanned);
    const top = Math.min(end, from + WINDOW);
    const first = from < top ? this.#statements.firstNew.get(from, top, ...this.#types) : undefined;
    this.#scanned = first === undefined ? top : Number(first.position) - 1;
    this.#hasMore = this.#scanned < end;
    return first !== undefined || this.#scanned - checkpoint >= WINDOW;
  }

  /** One transaction: stores what was handled, renews leases, claims events up to the capacity. */
  #step() {
    const time = now();
    const leaseEnd = time + this.#groups.leaseMs;
    const settled = this.#settle();
    if (time >= this.#renewAt) {
      for (const { position } of [...this.#queue, ...this.#running.keys()]) {
        this.#statements.renew.run(leaseEnd, this.#group, position, this.#id);
      }
    }
    const capacity = this.#capacity();
    const claimed = capacity > 0 ? this.#claimDue(time, leaseEnd, capacity) : [];
    if (capacity > claimed.length) claimed.push(...this.#claimNew(leaseEnd, capacity - claimed.length));
    const holds = claimed.length + this.#queue.length + this.#running.size > 0;
    if (!holds) this.#renewAt = Number.POSITIVE_INFINITY;
    else if (time >= this.#renewAt || this.#renewAt === Number.POSITIVE_INFINITY)
      this.#renewAt = time + this.#groups.leaseMs / 3;
    this.#nextDue = this.#findNextDue(time);
    return { claimed, ...settled };
  }

  /** When there will be something to claim again. Infinity while there is no room for it, or nothing. */
  #findNextDue(time: number): number {
    const due = this.#statements.nextDue.get(this.#group)?.due ?? null;
    if (due === null || this.#capacity() === 0) return Number.POSITIVE_INFINITY;
    return Number(due) > time + FARTHEST_DUE_MS ? time : Number(due);
  }

  #settle() {
    for (const { position } of this.#handled) this.#statements.acknowledge.run(this.#group, position);
    const given = [...this.#notHandled, ...(this.#mayTake() ? [] : this.#queue)];
    for (const { position } of given) this.#statements.giveBack.run(now(), this.#group, position, this.#id);
    return { handled: this.#handled.length, notHandled: this.#notHandled.length };
  }

  /** What a committed transaction has stored. */
  #forget({ handled, notHandled }: { readonly handled: number; readonly notHandled: number }): void {
    this.#handled.splice(0, handled);
    this.#notHandled.splice(0, notHandled);
    if (!this.#mayTake()) this.#queue.splice(0);
  }

  /** Claims events that were given back or whose lease has expired. */
  #claimDue(time: number, leaseEnd: number, capacity: number): Claimed[] {
    return this.#statements.due.all(this.#group, time, time + FARTHEST_DUE_MS, capacity).map((row) => {
      const position = Number(row.position);
      this.#statements.reclaim.run(this.#id, leaseEnd, this.#group, position);
      return { position, event: storedEvent(row) };
    });
  }

  #claimNew(leaseEnd: number, capacity: number): Claimed[] {
    const checkpoint = this.#checkpoint();
    const from = Math.max(checkpoint, this.#scanned);
    const end = this.#end();
    const top = Math.min(end, from + WINDOW);
    const rows: Row[] = this.#statements.newEvents.all(from, top, ...this.#types, capacity);
    const claimed = rows.map((row) => {
      const position = Number(row.position);
      this.#statements.claim.run(this.#group, position, this.#id, leaseEnd);
      return { position, event: storedEvent(row) };
    });
    const reached = claimed.length === capacity ? (claimed.at(-1)?.position ?? from) : Math.max(top, from);
    if (reached !== checkpoint) this.#statements.advance.run(reached, this.#group);
    this.#hasMore = reached < end;
    return claimed;
  }

  #checkpoint(): number {
    return Number(this.#statements.checkpoint.get(this.#group)?.checkpoint ?? 0);
  }

  #end(): number {
    return Number(this.#statements.end.get()?.position ?? 0);
  }
}
