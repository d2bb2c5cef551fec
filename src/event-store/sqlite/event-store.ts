import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import { nextSlice } from '../../event-loop/slices.ts';
import { type TakeWalStep, transaction } from '../../sqlite/database.ts';
import { checkStreamName } from '../check-event.ts';
import {
  type Appended,
  type Batch,
  type Consume,
  type Consumer,
  type EventToLoad,
  type ExpectedRevision,
  type HandleEvent,
  LOG_START,
  type NewEvent,
  type OperatedEventStore,
  type Position,
  type ReadAll,
  type ReadStream,
  type StoredEvent,
  type Subscribe,
  WrongExpectedRevision,
} from '../event-store.ts';
import { type Outage, watchOutage } from '../outage.ts';
import { GroupConsumer } from './group-consumer.ts';
import { openLogFile } from './log-file.ts';
import { LogTail, TAIL_PAGE } from './log-tail.ts';
import { type AppendToLog, committedRows, LogWriter, rowsOf } from './log-writer.ts';
import { EVENT_COLUMNS, eventsOf, numberOf, positionOf, prepareRange, prepareRevision } from './stored-event.ts';

/** Events of the log per query. In between, other work of the process gets a turn. */
const PAGE = 512;
/** Events of a stream per query. A page blocks the other requests, so it is short: a quarter of a millisecond. */
const STREAM_PAGE = 64;
/** Log positions scanned per query, since a filter may drop most of them. */
const WINDOW = 8_192;
/** Delay before a subscription retries a failed read. */
const RETRY_DELAY_MS = 250;

export type SqliteEventStoreOptions = {
  readonly path: string;
  /** Logs failures that are retried, such as the read of a subscription. */
  readonly logger?: Pick<BaseLogger, 'warn'>;
  /** The thread that appends and takes steps for the WAL, so that this one never waits for the disk. */
  readonly elsewhere?: AppendsElsewhere | undefined;
};

export type AppendsElsewhere = {
  readonly append: AppendToLog;
  readonly walSteps: TakeWalStep;
};

/**
 * The embedded event log: one SQLite file, which any number of processes on the machine may have open.
 * @throws if the file is not an event log, or was written by a newer version
 */
export async function openSqliteEventStore(options: SqliteEventStoreOptions): Promise<OperatedEventStore> {
  return new SqliteEventStore(await openLogFile(options.path, options.elsewhere?.walSteps), options);
}

class SqliteEventStore implements OperatedEventStore {
  readonly #database: DatabaseSync;
  readonly #tail: LogTail;
  readonly #writer: LogWriter;
  readonly #appendToLog: AppendToLog;
  readonly #closing = new AbortController();
  readonly outage: Outage;
  readonly #consumers = new Set<GroupConsumer>();
  readonly #logger: SqliteEventStoreOptions['logger'];
  readonly #statements;

  constructor(database: DatabaseSync, options: SqliteEventStoreOptions) {
    this.#database = database;
    this.outage = watchOutage(() => this.ping(), this.#closing.signal, options);
    this.#tail = new LogTail(database);
    this.#writer = new LogWriter(database);
    this.#appendToLog = options.elsewhere?.append ?? this.#writer.append;
    this.#logger = options.logger;
    this.#statements = {
      revision: prepareRevision(database),
      load: database.prepare(
        'INSERT INTO events (position, stream, revision, id, type, data, metadata) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING position',
      ),
      last: database.prepare(`SELECT ${EVENT_COLUMNS} FROM events ORDER BY position DESC LIMIT 1`),
      stream: database.prepare(
        `SELECT ${EVENT_COLUMNS} FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?`,
      ),
    };
    this.#statements.last.setReturnArrays(true);
    this.#statements.stream.setReturnArrays(true);
  }

  async append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expectedRevision: ExpectedRevision },
  ): Promise<Appended> {
    this.#checkOpen();
    checkStreamName(stream);
    const { expectedRevision } = options;
    const append = { stream, rows: rowsOf(events), expectedRevision };
    const outcome = await this.#appendToLog(append);
    if ('actual' in outcome) throw new WrongExpectedRevision(stream, expectedRevision, outcome.actual);
    const { revision, position, before } = outcome;
    if (before === undefined) this.#tail.changed();
    else this.#tail.take(before, () => committedRows(append, { position: numberOf(position), revision }));
    return { revision, position };
  }

  async load(events: readonly EventToLoad[]): Promise<readonly Position[]> {
    this.#checkOpen();
    const positions = await transaction(this.#database, 'durable', () =>
      events.map(({ position, stream, revision, id, type, data, metadata }): Position => {
        const actual = this.#statements.revision(stream);
        const expected = revision === 0 ? 'none' : revision - 1;
        if (actual !== expected) throw new WrongExpectedRevision(stream, expected, actual);
        // For null, SQLite chooses the next position.
        const at = position === undefined ? null : numberOf(position);
        const row = [at, stream, revision, id, type, JSON.stringify(data), JSON.stringify(metadata)] as const;
        return positionOf(Number(this.#statements.load.get(...row)?.position));
      }),
    );
    this.#tail.changed();
    return positions;
  }

  async *readStream(stream: string, options: ReadStream = {}): AsyncGenerator<StoredEvent> {
    let from = options.from ?? 0;
    let remaining = options.limit ?? Number.POSITIVE_INFINITY;
    while (remaining > 0) {
      this.#checkOpen();
      const size = Math.min(remaining, STREAM_PAGE);
      const events = eventsOf(this.#statements.stream.all(stream, from, size));
      for (const event of events) yield event;
      const last = events.at(-1);
      if (last === undefined || events.length < size) return;
      remaining -= size;
      from = last.revision + 1;
      if (remaining > 0) await nextSlice();
    }
  }

  async *readAll(options: ReadAll = {}): AsyncGenerator<StoredEvent> {
    this.#checkOpen();
    const { types = [] } = options;
    const end = this.#tail.end();
    const read = prepareRange(this.#database, types.length);
    let reached = numberOf(options.after ?? LOG_START);
    let remaining = options.limit ?? Number.POSITIVE_INFINITY;
    while (remaining > 0 && reached < end) {
      this.#checkOpen();
      const size = Math.min(remaining, PAGE);
      const top = Math.min(end, reached + WINDOW);
      const events = read(reached, top, types, size);
      for (const event of events) yield event;
      remaining -= events.length;
      reached = lastOf(events, size) ?? top;
      await nextSlice();
    }
  }

  async lastEvent(): Promise<StoredEvent | undefined> {
    this.#checkOpen();
    return eventsOf(this.#statements.last.all())[0];
  }

  async *subscribe({ after = LOG_START, types, signal }: Subscribe): AsyncGenerator<Batch> {
    this.#checkOpen();
    const stop = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    const wakeup = this.#tail.subscribe();
    stop.addEventListener('abort', wakeup.wake);
    try {
      let at = numberOf(after);
      let first = true;
      while (!stop.aborted) {
        const batch = this.#nextBatch(types, at);
        if (batch === undefined) {
          await wakeup.wait(RETRY_DELAY_MS);
          continue;
        }
        const reached = numberOf(batch.position);
        if (reached > at || first) yield batch;
        first = false;
        at = reached;
        if (!batch.caughtUp) await nextTurn();
        else if (!stop.aborted) await wakeup.wait();
      }
    } finally {
      stop.removeEventListener('abort', wakeup.wake);
      this.#tail.unsubscribe(wakeup);
    }
  }

  /** Undefined if the file cannot be read: a subscription survives I/O errors. */
  #nextBatch(types: readonly string[] | undefined, at: number): Batch | undefined {
    try {
      const { events, reached, hasMore } = this.#tail.read(at, types, TAIL_PAGE);
      return { events: events.map(({ event }) => event), position: positionOf(reached), caughtUp: !hasMore };
    } catch (error) {
      this.#onError(error);
      return undefined;
    }
  }

  /** Groups need no rights. */
  async checkGroupRights(): Promise<void> {}

  async consume(group: string, options: Consume, handler: HandleEvent): Promise<Consumer> {
    this.#checkOpen();
    const onFailure = (error: unknown) =>
      this.#logger?.warn({ err: error }, `Consumer group ${group}: the handler failed; trying again`);
    const deps = { tail: this.#tail, onError: this.#onError, onFailure };
    const consumer = new GroupConsumer(deps, options, handler);
    this.#consumers.add(consumer);
    return {
      close: async () => {
        await consumer.close();
        this.#consumers.delete(consumer);
      },
    };
  }

  readonly #onError = (error: unknown): void => {
    this.#logger?.warn({ err: error }, 'Event log access failed; retrying');
  };

  async ping(): Promise<void> {
    this.#checkOpen();
    this.#tail.end();
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await Promise.all([this.#writer.settled(), ...[...this.#consumers].map((consumer) => consumer.close())]);
    this.#database.close();
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw new Error('The event store is closed');
  }
}

/** The position of the last event of a full page. */
function lastOf(page: readonly StoredEvent[], size: number): number | undefined {
  const last = page.length === size ? page.at(-1) : undefined;
  return last && numberOf(last.position);
}
