import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { Wakeup } from '../../runtime/wakeup.ts';
import { transaction } from '../../sqlite/database.ts';
import type { Consume, Consumer, ParkedEvent, StoredEvent } from '../event-store.ts';
import type { LogChanges } from './log-changes.ts';
import { type Row, storedEvent } from './stored-event.ts';

/** Positions looked at for new events in one transaction. */
const WINDOW = 8_192;
/** Pause after a transaction that failed (disk full, …). */
const PAUSE_MS = 250;
/** The nth retry comes after 100 ms × 2^(n-1), at most this. */
const LONGEST_BACKOFF_MS = 5_000;

/** Leases and backoff are about this machine's time, which a shifted clock (`CLOCK_SHIFT`) must not touch. */
const now = systemClock();

type Handler = (event: StoredEvent) => Promise<void>;

/** An event in this consumer's hands. `attempts` counts this one. */
type Claimed = { readonly position: number; readonly attempts: number; readonly event: StoredEvent };

type Outcome = { readonly claimed: Claimed; readonly failure?: string };

export type GroupsOptions = {
  readonly database: DatabaseSync;
  readonly changes: LogChanges;
  /** Stamps parked events. */
  readonly clock: Clock;
  /** How long a consumer that no longer answers keeps its events, in milliseconds. */
  readonly leaseMs: number;
  readonly onTrouble: (error: unknown) => void;
};

/**
 * Persistent subscriptions: groups of competing consumers whose state is in the log's own file. Its commits are lazy: losing
 * the last ones delivers events again and loses none.
 */
export class ConsumerGroups {
  readonly #options: GroupsOptions;
  readonly #consumers = new Set<GroupConsumer>();
  readonly #create: StatementSync;
  readonly #parked: StatementSync;
  readonly #replay: StatementSync;

  constructor(options: GroupsOptions) {
    this.#options = options;
    const { database } = options;
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
    await transaction(this.#options.database, 'lazy', () => this.#create.run(group));
    const consumer = new GroupConsumer(group, options, handler, this.#options);
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
    const { changes } = await transaction(this.#options.database, 'lazy', () =>
      this.#replay.run({ group, id: id ?? null }),
    );
    this.#options.changes.announce();
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
  readonly #groups: GroupsOptions;
  readonly #types: readonly string[];
  readonly #maxRetries: number;
  readonly #concurrency: number;
  readonly #wakeup: Wakeup;
  readonly #statements;
  /** Claimed, not yet in the handler's hands. */
  readonly #held: Claimed[] = [];
  readonly #running = new Map<Claimed, Promise<void>>();
  /** Handled, not yet written down. */
  readonly #settled: Outcome[] = [];
  #renewAt = 0;
  #nextDue = Number.POSITIVE_INFINITY;
  #moreWaits = true;
  #stopped = false;
  readonly #ended: Promise<void>;

  constructor(group: string, options: Consume, handler: Handler, groups: GroupsOptions) {
    this.#group = group;
    this.#handler = handler;
    this.#groups = groups;
    this.#types = options.types ?? [];
    this.#maxRetries = options.maxRetries ?? 10;
    this.#concurrency = options.concurrency ?? 8;
    this.#wakeup = groups.changes.follow();
    const filter = options.types === undefined ? '' : `AND type IN (${options.types.map(() => '?').join(', ')})`;
    const prepare = (sql: string): StatementSync => groups.database.prepare(sql);
    this.#statements = {
      // Not fenced by the consumer: an event that was handled is done, even if it took longer than the lease.
      acknowledge: prepare('DELETE FROM deliveries WHERE group_name = ? AND position = ?'),
      postpone: prepare(
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
      fresh: prepare(`SELECT * FROM events WHERE position > ? AND position <= ? ${filter} ORDER BY position LIMIT ?`),
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
        const { written, claimed } = await transaction(this.#groups.database, 'lazy', () => this.#step());
        this.#settled.splice(0, written);
        this.#held.push(...claimed);
        this.#startHandlers();
        if (!this.#moreWaits || this.#room() === 0) {
          await this.#wakeup.wait(Math.max(0, Math.min(this.#nextDue, this.#renewAt) - now()));
        }
      } catch (error) {
        // Whatever goes wrong here, the events stay claimable: go on.
        this.#groups.onTrouble(error);
        await this.#wakeup.wait(PAUSE_MS);
      }
      // Handlers that finish at the same moment share a transaction.
      await nextTurn();
    }
    await transaction(this.#groups.database, 'lazy', () => this.#leave()).catch(this.#groups.onTrouble);
    this.#groups.changes.leave(this.#wakeup);
    this.#groups.changes.announce();
  }

  /** As much again as is handled waits at hand, so that handlers never wait for the file; no more, for the others' sake. */
  #room(): number {
    return this.#stopped ? 0 : this.#concurrency * 2 - this.#held.length - this.#running.size;
  }

  #startHandlers(): void {
    while (!this.#stopped && this.#running.size < this.#concurrency) {
      const claimed = this.#held.shift();
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

  /** One transaction: writes down what was handled, keeps what is in hand, takes what there is room for. */
  #step(): { written: number; claimed: Claimed[] } {
    const time = now();
    const lease = time + this.#groups.leaseMs;
    const written = this.#settle();
    if (time >= this.#renewAt) {
      for (const { position } of [...this.#held, ...this.#running.keys()]) {
        this.#statements.renew.run(lease, this.#group, position, this.#id);
      }
      this.#renewAt = time + this.#groups.leaseMs / 3;
    }
    const room = this.#room();
    const claimed = room > 0 ? this.#takeDue(time, lease, room) : [];
    if (room > claimed.length) claimed.push(...this.#takeFresh(lease, room - claimed.length));
    const due = this.#statements.nextDue.get(this.#group)?.due ?? null;
    this.#nextDue = due === null || room === 0 ? Number.POSITIVE_INFINITY : Number(due);
    return { written, claimed };
  }

  /** The last transaction: gives back what no handler has begun. */
  #leave(): void {
    this.#settle();
    for (const { position, attempts } of this.#held) {
      this.#statements.postpone.run(attempts - 1, now(), this.#group, position, this.#id);
    }
  }

  #settle(): number {
    for (const { claimed, failure } of this.#settled) {
      const { position, attempts } = claimed;
      if (failure === undefined) this.#statements.acknowledge.run(this.#group, position);
      else if (attempts > this.#maxRetries) this.#park(position, failure, this.#id);
      else {
        const backoff = Math.min(100 * 2 ** (attempts - 1), LONGEST_BACKOFF_MS);
        this.#statements.postpone.run(attempts, now() + backoff, this.#group, position, this.#id);
      }
    }
    return this.#settled.length;
  }

  #park(position: number, reason: string, consumer: string | null): void {
    this.#statements.park.run(reason, this.#groups.clock(), this.#group, position, consumer);
  }

  /** Events whose retry is due, and those of a consumer that is gone. */
  #takeDue(time: number, lease: number, room: number): Claimed[] {
    const claimed: Claimed[] = [];
    for (const row of this.#statements.due.all(this.#group, time, room)) {
      const position = Number(row.position);
      const attempts = Number(row.attempts) + 1;
      if (attempts > this.#maxRetries + 1) {
        const consumer = row.consumer === null ? null : String(row.consumer);
        this.#park(position, 'No answer: the consumer stopped while it handled the event', consumer);
      } else {
        this.#statements.reclaim.run(this.#id, attempts, lease, this.#group, position);
        claimed.push({ position, attempts, event: storedEvent(row) });
      }
    }
    return claimed;
  }

  #takeFresh(lease: number, room: number): Claimed[] {
    const checkpoint = Number(this.#statements.checkpoint.get(this.#group)?.checkpoint);
    const end = Number(this.#statements.end.get()?.position ?? 0);
    const top = Math.min(end, checkpoint + WINDOW);
    const rows: Row[] = this.#statements.fresh.all(checkpoint, top, ...this.#types, room);
    const claimed = rows.map((row) => {
      const position = Number(row.position);
      this.#statements.claim.run(this.#group, position, this.#id, lease);
      return { position, attempts: 1, event: storedEvent(row) };
    });
    const reached = claimed.length === room ? (claimed.at(-1)?.position ?? checkpoint) : Math.max(top, checkpoint);
    if (reached !== checkpoint) this.#statements.advance.run(reached, this.#group);
    this.#moreWaits = reached < end;
    return claimed;
  }
}
