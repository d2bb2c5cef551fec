import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { Wakeup } from '../../event-loop/wakeup.ts';
import { watchCommits } from '../../sqlite/watch-commits.ts';
import type { StoredEvent } from '../event-store.ts';
import type { CommittedRow } from './log-writer.ts';
import { EVENT_COLUMNS, eventsOf, numberOf, prepareRange } from './stored-event.ts';

/** Log positions scanned at once for a reader that is behind the tail. */
const WINDOW = 8_192;
/** Events that the tail reads at once. It holds at most twice as many. */
export const TAIL_PAGE = 512;

export type ReadEvent = { readonly position: number; readonly event: StoredEvent };

/** The result of a read. It has all events of the types between its start and `reached`. */
export type Read = { readonly events: readonly ReadEvent[]; readonly reached: number; readonly hasMore: boolean };

/** The events in (after, end]. */
type CachedTail = { after: number; end: number; readonly events: ReadEvent[] };

/**
 * Caches the last events of the log for all subscriptions and consumers of this connection, and wakes them. This process announces
 * its own commits; the tail watches the file for those of other processes.
 */
export class LogTail {
  readonly #database: DatabaseSync;
  readonly #next: StatementSync;
  readonly #last: StatementSync;
  /** The statements that read events before the tail, by the number of types. */
  readonly #before = new Map<number, ReturnType<typeof prepareRange>>();
  readonly #subscribers = new Set<Wakeup>();
  #cached: CachedTail | undefined;
  /** Whether the file may have events that the tail has not read. */
  #mayHaveMore = true;
  #stopWatching: (() => void) | undefined;
  #isWaking = false;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#next = database.prepare(
      `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT ${TAIL_PAGE}`,
    );
    this.#next.setReturnArrays(true);
    this.#last = database.prepare('SELECT max(position) AS position FROM events');
  }

  /**
   * Adds events that this process has committed if they follow the cached ones; otherwise the next read uses the file.
   * @param before the position of the event before them
   */
  take(before: number, rows: () => readonly CommittedRow[]): void {
    const cached = this.#cached;
    if (cached === undefined || this.#mayHaveMore || before !== cached.end) this.changed();
    else this.#add(cached, readEvents(rows()));
  }

  /** The file has changed, or its readers have to check it for another reason. */
  changed(): void {
    this.#mayHaveMore = true;
    this.#wakeSoon();
  }

  subscribe(): Wakeup {
    const wakeup = new Wakeup();
    this.#subscribers.add(wakeup);
    // Without subscribers, the tail was not watching.
    this.#mayHaveMore = true;
    this.#stopWatching ??= watchCommits(this.#database, () => this.#checkFile());
    return wakeup;
  }

  unsubscribe(wakeup: Wakeup): void {
    this.#subscribers.delete(wakeup);
    if (this.#subscribers.size > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
  }

  /**
   * Reads events after a position, at most `limit`. Queries the file only if it may have changed.
   * @param types default: all
   */
  read(after: number, types: readonly string[] | undefined, limit: number): Read {
    const cached = this.#refresh();
    const isCached = after >= cached.after;
    const top = isCached ? cached.end : Math.min(cached.end, after + WINDOW);
    const events = isCached ? ofTypes(cached.events, after, types, limit) : this.#readBefore(after, top, types, limit);
    const reached = events.length === limit ? (events.at(-1)?.position ?? after) : Math.max(top, after);
    return { events, reached, hasMore: reached < cached.end || this.#mayHaveMore };
  }

  /** The position of the last event. */
  end(): number {
    return Number(this.#last.get()?.position ?? 0);
  }

  #readBefore(after: number, top: number, types: readonly string[] = [], limit: number): ReadEvent[] {
    const read = this.#before.getOrInsertComputed(types.length, (count) => prepareRange(this.#database, count));
    return read(after, top, types, limit).map(withPosition);
  }

  #refresh(): CachedTail {
    this.#cached ??= this.#begin();
    const cached = this.#cached;
    if (!this.#mayHaveMore) return cached;
    const events = readEvents(this.#next.all(cached.end));
    this.#mayHaveMore = events.length === TAIL_PAGE;
    this.#add(cached, events);
    return cached;
  }

  #begin(): CachedTail {
    const end = this.end();
    return { after: end, end, events: [] };
  }

  /** Wakes all readers: the one that reads from the file may be another than those that wait. */
  #add(cached: CachedTail, events: readonly ReadEvent[]): void {
    if (events.length > 0) this.#wakeSoon();
    for (const event of events) cached.events.push(event);
    cached.end = cached.events.at(-1)?.position ?? cached.end;
    if (cached.events.length > 2 * TAIL_PAGE)
      cached.after = cached.events.splice(0, cached.events.length - TAIL_PAGE).at(-1)?.position ?? cached.after;
  }

  /** Once for all events of a group, whose appends are answered together. */
  #wakeSoon(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    process.nextTick(() => {
      this.#isWaking = false;
      for (const wakeup of this.#subscribers) wakeup.wake();
    });
  }

  #checkFile(): void {
    // This process announces its own commits within this turn.
    setImmediate(() => {
      if (this.#hasUnread()) this.changed();
    });
  }

  #hasUnread(): boolean {
    try {
      return this.end() > (this.#cached?.end ?? 0);
    } catch {
      // The woken readers meet the same error and handle it.
      return true;
    }
  }
}

const withPosition = (event: StoredEvent): ReadEvent => ({ position: numberOf(event.position), event });
const readEvents = (rows: readonly unknown[]): ReadEvent[] => eventsOf(rows).map(withPosition);

function ofTypes(
  cached: readonly ReadEvent[],
  after: number,
  types: readonly string[] | undefined,
  limit: number,
): ReadEvent[] {
  // Search from the end, because readers nearly always want the last few events.
  let from = cached.length;
  while (from > 0 && (cached[from - 1]?.position ?? 0) > after) from -= 1;
  const events: ReadEvent[] = [];
  for (; from < cached.length && events.length < limit; from += 1) {
    const read = cached[from];
    if (read !== undefined && (types === undefined || types.includes(read.event.type))) events.push(read);
  }
  return events;
}
