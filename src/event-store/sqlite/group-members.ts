import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LogTail } from './log-tail.ts';
import type { Row } from './stored-event.ts';

/**
 * How long a consumer counts as a member without a word from it. That decides only how soon the one that is left is alone: nobody
 * waits for it.
 */
const MEMBER_MS = 30_000;
/** How often a member says that it takes part. */
export const SAY_EVERY_MS = MEMBER_MS / 3;

/** A consumer that takes part in a group. */
export type Member = {
  readonly consumer: string;
  /** What it claims is known to it alone, so nobody else may claim anything new. */
  readonly isAlone: boolean;
};

/** Who takes part in which group, as the log file says (docs/decisions/stores.md). */
export class GroupMembers {
  readonly #tail: Pick<LogTail, 'changes'>;
  readonly #all: StatementSync;
  readonly #say: StatementSync;
  readonly #remove: StatementSync;
  readonly #clear: StatementSync;
  #rows: readonly Row[] = [];
  #seen = -1;

  constructor(database: DatabaseSync, tail: Pick<LogTail, 'changes'>) {
    this.#tail = tail;
    this.#all = database.prepare('SELECT group_name, consumer, until, alone FROM members');
    this.#say = database.prepare(
      `INSERT INTO members (group_name, consumer, until, alone) VALUES (?, ?, ?, ?)
       ON CONFLICT (group_name, consumer) DO UPDATE SET until = excluded.until, alone = excluded.alone`,
    );
    this.#remove = database.prepare('DELETE FROM members WHERE group_name = ? AND consumer = ?');
    this.#clear = database.prepare('DELETE FROM members WHERE group_name = ?');
  }

  /** As of the last commit that this connection has heard of. */
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

  /** Says that a consumer takes part. For use in a transaction, like the other one that writes. */
  say(group: string, { consumer, isAlone }: Member, time: number): void {
    this.#say.run(group, consumer, time + MEMBER_MS, isAlone ? 1 : 0);
  }

  remove(group: string, consumer: string): void {
    this.#remove.run(group, consumer);
  }

  /** Removes all, also those that nobody has heard of for long. */
  clear(group: string): void {
    this.#clear.run(group);
  }
}

function memberOf(row: Row, group: string, time: number): Member[] {
  const until = Number(row.until);
  // One that seems to stay for longer was written before the clock was set back.
  if (row.group_name !== group || until <= time || until > time + 2 * MEMBER_MS) return [];
  return [{ consumer: String(row.consumer), isAlone: row.alone === 1 }];
}
