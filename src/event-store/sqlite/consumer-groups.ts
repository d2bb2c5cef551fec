import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { Wakeup } from '../../runtime/wakeup.ts';
import { transaction } from '../../sqlite/database.ts';
import type { Consume, Consumer, ParkedEvent, StoredEvent } from '../event-store.ts';
import type { LogChanges } from './log-changes.ts';
import { type Row, storedEvent } from './stored-event.ts';

/** Log positions scanned for new events per transaction. */
const WINDOW = 8_192;
/** Delay after a failed transaction (disk full, …). */
const RETRY_DELAY_MS = 250;
/** The nth retry follows after 100 ms × 2^(n-1), up to this. */
const MAX_BACKOFF_MS = 5_000;

/** Leases and backoff use the real clock, which `CLOCK_SHIFT` must not move. */
const now = systemClock();

type Handler = (event: StoredEvent) => Promise<void>;

/** An event claimed by this consumer. `attempts` includes the current one. */
type Claimed = { readonly position: number; readonly attempts: number; readonly event: StoredEvent };

type Outcome = { readonly claimed: Claimed; readonly failure?: string };

export type GroupsDeps = {
  readonly database: DatabaseSync;
  readonly changes: LogChanges;
  /** For the timestamps of parked events. */
  readonly clock: Clock;
  /** How long events stay claimed by a consumer that no longer renews its leases, in milliseconds. */
  readonly leaseMs: number;
  readonly onError: (error: unknown) => void;
};

/**
 * Persistent subscriptions: consumer groups that keep their state in the log file. Commits are lazy: losing the last ones
 * redelivers events, but loses none (docs/decisions/embedded-log.md).
 */
export class ConsumerGroups {
  readonly #deps: GroupsDeps;
  readonly #consumers = new Set<GroupConsumer>();
  readonly #create: StatementSync;
  readonly #parked: StatementSync;
  readonly #replay: StatementSync;

  constructor(deps: GroupsDeps) {
    this.#deps = deps;
    const { database } = deps;
    this.#create = database.prepare('INSERT OR IGNORE INTO groups (name, checkpoint) VALUES (?, 0)');
    this.#parked = database.prepare(
      `SELECT events.*, reason, parked_at FROM deliveries JOIN events USING (position)
       WHERE group_name = ? AND parked_at IS NOT NULL AND position > ? ORDER BY position LIMIT 256`,
    );
    this.#replay = database.prepare(
      `UPDATE deliveries SET attempts = 0, due = 0, reason = NULL, parked_at = NULL
       WHERE group_name = :group AND parked_at IS NOT NULL
         AND (:id IS NULL OR (SELECT id FROM events WHERE position = deliveries.position) = :id)`,
    );
  }

  async consume(group: string, options: Consume, handler: Handler): Promise<Consumer> {
    await transaction(this.#deps.database, 'lazy', () => this.#create.run(group));
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
        const event = storedEvent(row);
        const parkedAt = new Date(Number(row.parked_at)).toISOString();
        yield { id: event.id, event, reason: String(row.reason), parkedAt };
        after = Number(row.position);
      }
      if (rows.length === 0) return;
      await nextTurn();
    }
  }

  async replayParked(group: string, id?: string): Promise<number> {
    const { changes } = await transaction(this.#deps.database, 'lazy', () =>
      this.#replay.run({ group, id: id ?? null }),
    );
    this.#deps.changes.wakeAll();
    return Number(changes);
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
  readonly #maxRetries: number;
  readonly #concurrency: number;
  readonly #wakeup: Wakeup;
  readonly #statements;
  /** Claimed but not yet being handled. */
  readonly #queue: Claimed[] = [];
  readonly #running = new Map<Claimed, Promise<void>>();
  /** Handled, but the outcome is not yet stored. */
  readonly #settled: Outcome[] = [];
  #renewAt = 0;
  #nextDue = Number.POSITIVE_INFINITY;
  #hasMore = true;
  #stopped = false;
  readonly #ended: Promise<void>;

  constructor(group: string, options: Consume, handler: Handler, groups: GroupsDeps) {
    this.#group = group;
    this.#handler = handler;
    this.#groups = groups;
    this.#types = options.types ?? [];
    this.#maxRetries = options.maxRetries ?? 10;
    this.#concurrency = options.concurrency ?? 8;
    this.#wakeup = groups.changes.subscribe();
    const filter = options.types === undefined ? '' : `AND type IN (${options.types.map(() => '?').join(', ')})`;
    const prepare = (sql: string): StatementSync => groups.database.prepare(sql);
    this.#statements = {
      // Not fenced by the consumer: an event that was handled is done, even if the lease had expired by then.
      acknowledge: prepare('DELETE FROM deliveries WHERE group_name = ? AND position = ?'),
      reschedule: prepare(
        'UPDATE deliveries SET consumer = NULL, attempts = ?, due = ? WHERE group_name = ? AND position = ? AND consumer = ?',
      ),
      park: prepare(
        'UPDATE deliveries SET consumer = NULL, due = NULL, reason = ?, parked_at = ? WHERE group_name = ? AND position = ? AND consumer IS ?',
      ),
      renew: prepare('UPDATE deliveries SET due = ? WHERE group_name = ? AND position = ? AND consumer = ?'),
      due: prepare(
        `SELECT events.*, consumer, attempts FROM deliveries JOIN events USING (position)
         WHERE group_name = ? AND due <= ? ORDER BY due LIMIT ?`,
      ),
      reclaim: prepare(
        'UPDATE deliveries SET consumer = ?, attempts = ?, due = ? WHERE group_name = ? AND position = ?',
      ),
      checkpoint: prepare('SELECT checkpoint FROM groups WHERE name = ?'),
      end: prepare('SELECT max(position) AS position FROM events'),
      newEvents: prepare(
        `SELECT * FROM events WHERE position > ? AND position <= ? ${filter} ORDER BY position LIMIT ?`,
      ),
      claim: prepare('INSERT INTO deliveries (group_name, position, consumer, attempts, due) VALUES (?, ?, ?, 1, ?)'),
      advance: prepare('UPDATE groups SET checkpoint = ? WHERE name = ?'),
      nextDue: prepare('SELECT min(due) AS due FROM deliveries WHERE group_name = ?'),
    };
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#stopped = true;
    this.#wakeup.wake();
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#stopped || this.#running.size > 0) {
      try {
        const { stored, claimed } = await transaction(this.#groups.database, 'lazy', () => this.#step());
        this.#settled.splice(0, stored);
        this.#queue.push(...claimed);
        this.#startHandlers();
        if (!this.#hasMore || this.#capacity() === 0) {
          await this.#wakeup.wait(Math.max(0, Math.min(this.#nextDue, this.#renewAt) - now()));
        }
      } catch (error) {
        // Whatever failed, the events remain claimable.
        this.#groups.onError(error);
        await this.#wakeup.wait(RETRY_DELAY_MS);
      }
      // Handlers that finish in the same turn of the event loop share a transaction.
      await nextTurn();
    }
    await transaction(this.#groups.database, 'lazy', () => this.#release()).catch(this.#groups.onError);
    this.#groups.changes.unsubscribe(this.#wakeup);
    this.#groups.changes.wakeAll();
  }

  /**
   * How many more events to claim: up to twice the concurrency in all, so that handlers never wait for the file, but no more,
   * so that other consumers get their share.
   */
  #capacity(): number {
    return this.#stopped ? 0 : this.#concurrency * 2 - this.#queue.length - this.#running.size;
  }

  #startHandlers(): void {
    while (!this.#stopped && this.#running.size < this.#concurrency) {
      const claimed = this.#queue.shift();
      if (claimed === undefined) return;
      this.#running.set(claimed, this.#handle(claimed));
    }
  }

  async #handle(claimed: Claimed): Promise<void> {
    let failure: string | undefined;
    try {
      await this.#handler(claimed.event);
    } catch (error) {
      failure = error instanceof Error ? error.message : String(error);
    }
    this.#running.delete(claimed);
    this.#settled.push(failure === undefined ? { claimed } : { claimed, failure });
    this.#startHandlers();
    this.#wakeup.wake();
  }

  /** One transaction: stores outcomes, renews leases, claims events up to the capacity. */
  #step(): { stored: number; claimed: Claimed[] } {
    const time = now();
    const leaseEnd = time + this.#groups.leaseMs;
    const stored = this.#settle();
    if (time >= this.#renewAt) {
      for (const { position } of [...this.#queue, ...this.#running.keys()]) {
        this.#statements.renew.run(leaseEnd, this.#group, position, this.#id);
      }
      this.#renewAt = time + this.#groups.leaseMs / 3;
    }
    const capacity = this.#capacity();
    const claimed = capacity > 0 ? this.#claimDue(time, leaseEnd, capacity) : [];
    if (capacity > claimed.length) claimed.push(...this.#claimNew(leaseEnd, capacity - claimed.length));
    const due = this.#statements.nextDue.get(this.#group)?.due ?? null;
    this.#nextDue = due === null || capacity === 0 ? Number.POSITIVE_INFINITY : Number(due);
    return { stored, claimed };
  }

  /** The last transaction: releases events that no handler has started. */
  #release(): void {
    this.#settle();
    for (const { position, attempts } of this.#queue) {
      this.#statements.reschedule.run(attempts - 1, now(), this.#group, position, this.#id);
    }
  }

  #settle(): number {
    for (const { claimed, failure } of this.#settled) {
      const { position, attempts } = claimed;
      if (failure === undefined) this.#statements.acknowledge.run(this.#group, position);
      else if (attempts > this.#maxRetries) this.#park(position, failure, this.#id);
      else {
        const backoff = Math.min(100 * 2 ** (attempts - 1), MAX_BACKOFF_MS);
        this.#statements.reschedule.run(attempts, now() + backoff, this.#group, position, this.#id);
      }
    }
    return this.#settled.length;
  }

  #park(position: number, reason: string, consumer: string | null): void {
    this.#statements.park.run(reason, this.#groups.clock(), this.#group, position, consumer);
  }

  /** Claims events whose retry is due or whose lease has expired. */
  #claimDue(time: number, leaseEnd: number, capacity: number): Claimed[] {
    const claimed: Claimed[] = [];
    for (const row of this.#statements.due.all(this.#group, time, capacity)) {
      const position = Number(row.position);
      const attempts = Number(row.attempts) + 1;
      if (attempts > this.#maxRetries + 1) {
        const consumer = row.consumer === null ? null : String(row.consumer);
        this.#park(position, 'The consumer stopped while handling the event', consumer);
      } else {
        this.#statements.reclaim.run(this.#id, attempts, leaseEnd, this.#group, position);
        claimed.push({ position, attempts, event: storedEvent(row) });
      }
    }
    return claimed;
  }

  #claimNew(leaseEnd: number, capacity: number): Claimed[] {
    const checkpoint = Number(this.#statements.checkpoint.get(this.#group)?.checkpoint);
    const end = Number(this.#statements.end.get()?.position ?? 0);
    const top = Math.min(end, checkpoint + WINDOW);
    const rows: Row[] = this.#statements.newEvents.all(checkpoint, top, ...this.#types, capacity);
    const claimed = rows.map((row) => {
      const position = Number(row.position);
      this.#statements.claim.run(this.#group, position, this.#id, leaseEnd);
      return { position, attempts: 1, event: storedEvent(row) };
    });
    const reached = claimed.length === capacity ? (claimed.at(-1)?.position ?? checkpoint) : Math.max(top, checkpoint);
    if (reached !== checkpoint) this.#statements.advance.run(reached, this.#group);
    this.#hasMore = reached < end;
    return claimed;
  }
}
