import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isKnownDead, THIS_PROCESS } from '../../runtime/process-liveness.ts';
import type { LogTail } from './log-tail.ts';
import type { Row } from './stored-event.ts';

/**
 * How long a consumer stays a member after its last announcement. This only delays the switch to exclusive claims after a consumer
 * dies; the remaining consumer works in the meantime.
 */
const MEMBER_MS = 30_000;
export const ANNOUNCE_EVERY_MS = MEMBER_MS / 3;

/** A consumer that takes part in a group. */
export type Member = {
  /** See {@link newConsumer}. */
  readonly consumer: string;
  /** Its claims are kept in memory, so no other consumer may claim new events. */
  readonly isExclusive: boolean;
};

/** The id of a new consumer, which names its process. */
export const newConsumer = (): string => JSON.stringify({ ...THIS_PROCESS, id: randomUUID() });

/** Whether the process of a consumer has certainly ended. Unknown for an id of an earlier release, which names no process. */
export const hasEnded = (consumer: string): boolean => consumer.startsWith('{') && isKnownDead(JSON.parse(consumer));

/** The members of each consumer group, stored in the log file (docs/decisions/stores.md). */
export class GroupMembers {
  readonly #tail: Pick<LogTail, 'changes'>;
  readonly #all: StatementSync;
  readonly #announce: StatementSync;
  readonly #remove: StatementSync;
  readonly #clear: StatementSync;
  #rows: readonly Row[] = [];
  #seen = -1;

  constructor(database: DatabaseSync, tail: Pick<LogTail, 'changes'>) {
    this.#tail = tail;
    this.#all = database.prepare('SELECT group_name, consumer, until, alone FROM members');
    this.#announce = database.prepare(
      `INSERT INTO members (group_name, consumer, until, alone) VALUES (?, ?, ?, ?)
       ON CONFLICT (group_name, consumer) DO UPDATE SET until = excluded.until, alone = excluded.alone`,
    );
    this.#remove = database.prepare('DELETE FROM members WHERE group_name = ? AND consumer = ?');
    this.#clear = database.prepare('DELETE FROM members WHERE group_name = ?');
  }

  /** The members as of the last commit this connection has noticed. Cached. */
  known(group: string, time: number): Member[] {
    const seen = this.#tail.changes;
    if (seen !== this.#seen) {
      this.#rows = this.#all.all();
      this.#seen = seen;
    }
    return this.#rows.flatMap((row) => memberOf(row, group, time));
  }

  /** For use in a transaction. */
  read(group: string, time: number): Member[] {
    return this.#all.all().flatMap((row) => memberOf(row, group, time));
  }

  /** Adds a member or extends its time. For use in a transaction, like the other writes. */
  announce(group: string, { consumer, isExclusive }: Member, time: number): void {
    this.#announce.run(group, consumer, time + MEMBER_MS, isExclusive ? 1 : 0);
  }

  remove(group: string, consumer: string): void {
    this.#remove.run(group, consumer);
  }

  /** Removes all members, including expired ones. */
  clear(group: string): void {
    this.#clear.run(group);
  }
}

function memberOf(row: Row, group: string, time: number): Member[] {
  const until = Number(row.until);
  // A later time was written before the clock was set back.
  if (row.group_name !== group || until <= time || until > time + 2 * MEMBER_MS) return [];
  return [{ consumer: String(row.consumer), isExclusive: row.alone === 1 }];
}
