import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LogChanges } from './log-changes.ts';
import type { Row } from './stored-event.ts';

/** Log positions scanned at once for a consumer that is further behind than the tail reaches. */
const WINDOW = 8_192;
/** Events that the tail reads at once. It holds twice as many at most. */
const PAGE = 512;

/** What was read of the log: no other event of the types lies between where the read began and `reached`. */
export type Read = { readonly rows: readonly Row[]; readonly reached: number; readonly hasMore: boolean };

/** The events in (after, end]. */
type Held = { after: number; end: number; readonly rows: Row[] };

/** The last events of the log, read once for all consumers of this connection, whatever their groups. */
export class LogTail {
  readonly #database: DatabaseSync;
  readonly #changes: Pick<LogChanges, 'count'>;
  readonly #next: StatementSync;
  readonly #last: StatementSync;
  /** Read what lies before the tail, by the number of types. */
  readonly #before = new Map<number, StatementSync>();
  #held: Held | undefined;
  #seen = -1;
  /** Whether the last read found the end of the log. */
  #isWhole = false;

  constructor(database: DatabaseSync, changes: Pick<LogChanges, 'count'>) {
    this.#database = database;
    this.#changes = changes;
    this.#next = database.prepare(`SELECT * FROM events WHERE position > ? ORDER BY position LIMIT ${PAGE}`);
    this.#last = database.prepare('SELECT max(position) AS position FROM events');
  }

  /** Reads events of some types after a position, at most `limit`. Nothing is asked of the file unless there was a commit. */
  read(after: number, types: readonly string[], limit: number): Read {
    const held = this.#refresh();
    const isHeld = after >= held.after;
    const top = isHeld ? held.end : Math.min(held.end, after + WINDOW);
    const rows = isHeld ? ofTypes(held.rows, after, types, limit) : this.#readBefore(after, top, types, limit);
    const reached = rows.length === limit ? Number(rows.at(-1)?.position ?? after) : Math.max(top, after);
    return { rows, reached, hasMore: reached < held.end || !this.#isWhole };
  }

  /** The position of the last event. */
  end(): number {
    return Number(this.#last.get()?.position ?? 0);
  }

  #readBefore(after: number, top: number, types: readonly string[], limit: number): Row[] {
    const placeholders = types.map(() => '?').join(', ');
    const statement =
      this.#before.get(types.length) ??
      this.#database.prepare(
        `SELECT * FROM events WHERE position > ? AND position <= ? AND type IN (${placeholders}) ORDER BY position LIMIT ?`,
      );
    this.#before.set(types.length, statement);
    return statement.all(after, top, ...types, limit);
  }

  #refresh(): Held {
    this.#held ??= this.#begin();
    const held = this.#held;
    const seen = this.#changes.count;
    if (seen === this.#seen && this.#isWhole) return held;
    const rows: Row[] = this.#next.all(held.end);
    this.#seen = seen;
    this.#isWhole = rows.length < PAGE;
    held.rows.push(...rows);
    held.end = Number(held.rows.at(-1)?.position ?? held.end);
    if (held.rows.length > 2 * PAGE) held.after = Number(held.rows.splice(0, held.rows.length - PAGE).at(-1)?.position);
    return held;
  }

  #begin(): Held {
    const end = this.end();
    return { after: end, end, rows: [] };
  }
}

function ofTypes(held: readonly Row[], after: number, types: readonly string[], limit: number): Row[] {
  // Nearly always the last few are wanted.
  let from = held.length;
  while (from > 0 && Number(held[from - 1]?.position) > after) from -= 1;
  const rows: Row[] = [];
  for (; from < held.length && rows.length < limit; from += 1) {
    const row = held[from];
    if (row !== undefined && types.includes(String(row.type))) rows.push(row);
  }
  return rows;
}
