import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { StoredEvent } from '../event-store.ts';
import type { LogChanges } from './log-changes.ts';
import { EVENT_COLUMNS, eventsOf, numberOf } from './stored-event.ts';

/** Log positions scanned at once for a reader that is further behind than the tail reaches. */
const WINDOW = 8_192;
/** Events that the tail reads at once. It holds twice as many at most. */
export const TAIL_PAGE = 512;

export type ReadEvent = { readonly position: number; readonly event: StoredEvent };

/** What was read of the log: no other event of the types lies between where the read began and `reached`. */
export type Read = { readonly events: readonly ReadEvent[]; readonly reached: number; readonly hasMore: boolean };

/** The events in (after, end]. */
type Held = { after: number; end: number; readonly events: ReadEvent[] };

/** The last events of the log, read once for all subscriptions and consumers of this connection. */
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
    this.#next = database.prepare(
      `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ${TAIL_PAGE}`,
    );
    this.#next.setReturnArrays(true);
    this.#last = database.prepare('SELECT max(position) AS position FROM events');
  }

  /**
   * Reads events after a position, at most `limit`. Nothing is asked of the file unless there was a commit since.
   * @param types default: all
   */
  read(after: number, types: readonly string[] | undefined, limit: number): Read {
    const held = this.#refresh();
    const isHeld = after >= held.after;
    const top = isHeld ? held.end : Math.min(held.end, after + WINDOW);
    const events = isHeld ? ofTypes(held.events, after, types, limit) : this.#readBefore(after, top, types, limit);
    const reached = events.length === limit ? (events.at(-1)?.position ?? after) : Math.max(top, after);
    return { events, reached, hasMore: reached < held.end || !this.#isWhole };
  }

  /** The position of the last event. */
  end(): number {
    return Number(this.#last.get()?.position ?? 0);
  }

  #readBefore(after: number, top: number, types: readonly string[] = [], limit: number): ReadEvent[] {
    let statement = this.#before.get(types.length);
    if (statement === undefined) {
      const filter = types.length === 0 ? '' : `AND type IN (${types.map(() => '?').join(', ')})`;
      statement = this.#database.prepare(
        `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? AND position <= ? ${filter} ORDER BY position LIMIT ?`,
      );
      statement.setReturnArrays(true);
      this.#before.set(types.length, statement);
    }
    return readEvents(statement.all(after, top, ...types, limit));
  }

  #refresh(): Held {
    this.#held ??= this.#begin();
    const held = this.#held;
    const seen = this.#changes.count;
    if (seen === this.#seen && this.#isWhole) return held;
    const events = readEvents(this.#next.all(held.end));
    this.#seen = seen;
    this.#isWhole = events.length < TAIL_PAGE;
    held.events.push(...events);
    held.end = held.events.at(-1)?.position ?? held.end;
    if (held.events.length > 2 * TAIL_PAGE)
      held.after = held.events.splice(0, held.events.length - TAIL_PAGE).at(-1)?.position ?? held.after;
    return held;
  }

  #begin(): Held {
    const end = this.end();
    return { after: end, end, events: [] };
  }
}

const readEvents = (rows: readonly unknown[]): ReadEvent[] =>
  eventsOf(rows).map((event) => ({ position: numberOf(event.position), event }));

function ofTypes(
  held: readonly ReadEvent[],
  after: number,
  types: readonly string[] | undefined,
  limit: number,
): ReadEvent[] {
  // Nearly always the last few are wanted.
  let from = held.length;
  while (from > 0 && (held[from - 1]?.position ?? 0) > after) from -= 1;
  const events: ReadEvent[] = [];
  for (; from < held.length && events.length < limit; from += 1) {
    const read = held[from];
    if (read !== undefined && (types === undefined || types.includes(read.event.type))) events.push(read);
  }
  return events;
}
