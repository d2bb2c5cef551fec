import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AppendToStreamOptions,
  BACKWARDS,
  END,
  FORWARDS,
  jsonEvent,
  NO_STREAM,
  type RecordedEvent,
  START,
  type StreamingRead,
  StreamNotFoundError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import pRetry from 'p-retry';
import { OutcomeUnknown, Unavailable } from '../../runtime/unavailable.ts';
import { checkEvents, checkStreamName } from '../check-event.ts';
import {
  type Appended,
  type Batch,
  type Consume,
  type Consumer,
  type CreateGroup,
  type EventStore,
  type EventToLoad,
  type ExpectedRevision,
  type HandleEvent,
  LOG_START,
  type NewEvent,
  type ParkedEvent,
  type Position,
  type ReadAll,
  type ReadStream,
  type StoredEvent,
  type Subscribe,
  WrongExpectedRevision,
} from '../event-store.ts';
import { type Proposed, propose, type StoredAt } from './append-stream.ts';
import { CatchUp } from './catch-up.ts';
import { Connection, type ConnectionOptions, isTransient, pause, RECONNECT_DELAY_MS } from './connection.ts';
import { ConsumerGroups } from './consumer-groups.ts';
import { NoLeader } from './leader.ts';
import type { NodeClient } from './node-client.ts';
import { appendTo, readOf, type Task } from './rights.ts';
import { positionOf, serverPosition, storedEvent } from './stored-event.ts';

/** Retries of an append, and of a read that makes no progress. None starts once two deadlines have passed. */
const RETRIES = 3;

/** How often a read is resumed that makes no progress, and until when. */
type Patience = { readonly retries: number; readonly givesUpAt: number };

/** The end of the log as it was last seen, and the last event up to there. */
type Tail = { readonly end: Position; readonly event: StoredEvent | undefined };

/** Where `now` appends. The type begins with `$`, so that nobody but this file sees these events. */
const CLOCK_STREAM = 'clock';
const CLOCK_TYPE = '$venue-clock';

export type EventStoreDbOptions = ConnectionOptions & {
  /** How long a consumer may take to handle an event before the server redelivers it, in milliseconds. Default 60 s. */
  readonly messageTimeoutMs?: number;
};

/**
 * The event log in EventStoreDB / KurrentDB.
 * @throws {Unavailable} if the server cannot be reached within `startWithinMs`
 */
export async function openEventStoreDb(options: EventStoreDbOptions): Promise<EventStore> {
  const store = new EventStoreDb(options);
  try {
    await store.reach();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class EventStoreDb implements EventStore {
  readonly #connection: Connection;
  readonly #groups: ConsumerGroups;
  readonly #closing = new AbortController();
  #clockStreamIsBounded = false;
  #tail: Tail | undefined;

  constructor(options: EventStoreDbOptions) {
    this.#connection = new Connection(options);
    this.#groups = new ConsumerGroups(this.#connection, options.messageTimeoutMs ?? 60_000);
  }

  append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expectedRevision: ExpectedRevision },
  ): Promise<Appended> {
    // For an append that it recognises as a duplicate, the server may not return the position of the last event.
    return this.#append(
      stream,
      events,
      options,
      events.some(({ id }) => id !== undefined),
    );
  }

  async load(events: readonly EventToLoad[]): Promise<readonly Position[]> {
    const positions: Position[] = [];
    // One after another: the server gives positions in the order in which it stores them.
    for (const { stream, revision, position: _, ...event } of events) {
      const expectedRevision = revision === 0 ? 'none' : revision - 1;
      positions.push((await this.#append(stream, [event], { expectedRevision }, false)).position);
    }
    return positions;
  }

  async #append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expectedRevision: ExpectedRevision },
    mayBeDuplicate: boolean,
  ): Promise<Appended> {
    this.#checkOpen();
    checkStreamName(stream);
    const checked = checkEvents(events);
    const proposed = propose(stream, checked, this.#connection.names);
    const ids = checked.map(({ id }) => id);
    const { expectedRevision } = options;
    const givesUpAt = this.#connection.givesUpAt();
    let isSent = false;
    // Every attempt uses the same ids, so the server stores the events once.
    return pRetry(
      async (attempt) => {
        if (isSent) {
          const earlier = await this.#findAppended(stream, ids, expectedRevision, givesUpAt);
          if (earlier !== undefined) return earlier;
        }
        const stored = await this.#send(givesUpAt, stream, proposed, expectedRevision).catch((error: unknown) => {
          isSent ||= !(error instanceof NoLeader);
          throw error;
        });
        return this.#appended(stream, stored, mayBeDuplicate || attempt > 1, givesUpAt);
      },
      {
        retries: RETRIES,
        maxRetryTime: this.#connection.deadlineMs * 2,
        minTimeout: 50,
        factor: 3,
        randomize: true,
        shouldRetry: ({ error }) =>
          isTransient(error) && !(error instanceof WrongExpectedRevision) && !this.#closing.signal.aborted,
      },
    ).catch((error: unknown) => {
      if (error instanceof WrongExpectedRevision || !this.#isAway(error)) throw error;
      // What was sent may have been stored, or be stored yet.
      throw isSent ? new OutcomeUnknown(error.message, error) : new Unavailable(error.message, error);
    });
  }

  /** Whether an error is one of a server that does not answer, rather than of what was asked. */
  #isAway(error: unknown): error is Error {
    return error instanceof Error && isTransient(error) && !this.#closing.signal.aborted;
  }

  async #send(givesUpAt: number, stream: string, proposed: Proposed, expected: ExpectedRevision): Promise<StoredAt> {
    try {
      const onServer = this.#connection.names.onServer(stream);
      return await this.#connection.append(givesUpAt, onServer, proposed, expected);
    } catch (error) {
      if (!(error instanceof WrongExpectedVersionError)) throw error;
      const actual = typeof error.actualVersion === 'bigint' ? Number(error.actualVersion) : 'none';
      throw new WrongExpectedRevision(stream, expected, actual);
    }
  }

  async #appended(
    stream: string,
    { revision, position }: StoredAt,
    mayBeDuplicate: boolean,
    givesUpAt: number,
  ): Promise<Appended> {
    if (position !== undefined && !mayBeDuplicate) return { revision, position };
    const [last] = await Array.fromAsync(this.#readStream(stream, { from: revision, limit: 1 }, RETRIES, givesUpAt));
    if (last === undefined) throw new Error(`Stream ${stream} has no event at revision ${revision}, just appended`);
    return { revision, position: last.position };
  }

  /** Finds the events that an earlier attempt stored but whose response was lost. */
  async #findAppended(
    stream: string,
    ids: readonly string[],
    expected: ExpectedRevision,
    givesUpAt: number,
  ): Promise<Appended | undefined> {
    const from = (expected === 'none' ? 0 : expected + 1) + ids.length - 1;
    const [last] = await Array.fromAsync(this.#readStream(stream, { from, limit: 1 }, 0, givesUpAt));
    return last !== undefined && last.id === ids.at(-1)
      ? { revision: last.revision, position: last.position }
      : undefined;
  }

  readStream(stream: string, options: ReadStream = {}): AsyncGenerator<StoredEvent> {
    return this.#readStream(stream, options, RETRIES);
  }

  async *#readStream(
    stream: string,
    options: ReadStream,
    retries: number,
    until?: number,
  ): AsyncGenerator<StoredEvent> {
    this.#checkOpen();
    const { from, direction = 'forward', limit = Number.MAX_SAFE_INTEGER } = options;
    if (limit <= 0) return;
    const backward = direction === 'backward';
    let remaining = limit;
    const onServer = this.#connection.names.onServer(stream);
    const open = (last: StoredEvent | undefined) => {
      const next = last === undefined ? from : last.revision + (backward ? -1 : 1);
      if (remaining === 0 || (next !== undefined && next < 0)) return undefined;
      return (client: NodeClient) =>
        client.readStream(onServer, {
          fromRevision: next === undefined ? (backward ? END : START) : BigInt(next),
          direction: backward ? BACKWARDS : FORWARDS,
          maxCount: remaining,
          requiresLeader: true,
        });
    };
    // Not before the first event is asked for, which may be long after the call.
    const givesUpAt = until ?? this.#connection.givesUpAt();
    const events = this.#resuming(readOf(onServer), { retries, givesUpAt }, open);
    // No check of the limit: the server ends the read there.
    for await (const event of events) {
      remaining -= 1;
      yield event;
    }
  }

  async *readAll(options: ReadAll = {}): AsyncGenerator<StoredEvent> {
    this.#checkOpen();
    const { after, direction = 'forward', limit = Number.MAX_SAFE_INTEGER } = options;
    if (limit <= 0) return;
    const backward = direction === 'backward';
    if (after !== undefined) serverPosition(after);
    if (!backward) return yield* this.#forward(after ?? LOG_START, options.types, limit);
    if (limit === 1 && after === undefined && options.types === undefined) return yield* this.#last();
    const types = options.types === undefined ? undefined : new Set(options.types);
    let remaining = limit;
    const events = this.#resuming(readOf('$all'), this.#patience(), (last) => {
      const position = last?.position ?? after;
      if (position === LOG_START) return undefined;
      const from = position === undefined ? END : serverPosition(position);
      return (client) =>
        client.readAll({
          fromPosition: from === 'start' ? START : from,
          direction: BACKWARDS,
          requiresLeader: true,
        });
    });
    for await (const event of events) {
      if (after !== undefined && event.position >= after) continue;
      if (types !== undefined && !types.has(event.type)) continue;
      yield event;
      remaining -= 1;
      if (remaining === 0) return;
    }
  }

  /**
   * Reads the log forward to its end. A subscription, because the server filters it and says all the time how far it has looked,
   * however much of the log is not ours.
   */
  async *#forward(after: Position, types: readonly string[] | undefined, limit: number): AsyncGenerator<StoredEvent> {
    let position = after;
    let remaining = limit;
    let failures = 0;
    let givesUpAt = this.#connection.givesUpAt();
    for (;;) {
      this.#checkOpen();
      let progressed = false;
      let catchUp: CatchUp | undefined;
      try {
        const options = { after: position, types, stop: this.#closing.signal };
        catchUp = await CatchUp.openShared(this.#connection, options, givesUpAt);
        for (;;) {
          const batch = await catchUp.nextWhileBehind();
          if (batch === undefined) break;
          progressed ||= batch.position > position;
          position = batch.position;
          for (const event of batch.events) {
            yield event;
            remaining -= 1;
            if (remaining === 0) return;
          }
          if (batch.caughtUp) return;
        }
      } catch (error) {
        if (progressed) {
          failures = 0;
          givesUpAt = this.#connection.givesUpAt();
        }
        failures += 1;
        await this.#pauseBeforeRetry(error, failures, { retries: RETRIES, givesUpAt });
      } finally {
        catchUp?.close();
      }
    }
  }

  /**
   * The last event. It is asked for every second, and the server goes on adding system events to the log of a service that has
   * nothing to do, so only what has been added since the last look is read.
   */
  async *#last(): AsyncGenerator<StoredEvent> {
    const known = this.#tail;
    let { end = LOG_START, event }: Partial<Tail> = known ?? {};
    const isKnown = (recorded: RecordedEvent): boolean => {
      const position = positionOf(recorded.position ?? { commit: 0n, prepare: 0n });
      if (position > end) end = position;
      return known !== undefined && position <= known.end;
    };
    const read = (client: NodeClient) =>
      client.readAll({ fromPosition: END, direction: BACKWARDS, requiresLeader: true });
    for await (const found of this.#resuming(readOf('$all'), this.#patience(), () => read, isKnown)) {
      event = found;
      break;
    }
    this.#tail = { end, event };
    if (event !== undefined) yield event;
  }

  /**
   * Waits before a read is resumed; longer after each failure in a row.
   * @throws {Unavailable} if it has been given up; the error itself if another attempt is no use
   */
  async #pauseBeforeRetry(error: unknown, failures: number, { retries, givesUpAt }: Patience): Promise<void> {
    if (!this.#isAway(error)) throw error;
    if (failures > retries || performance.now() > givesUpAt) throw new Unavailable(error.message, error);
    await sleep(50 * 3 ** failures * (0.5 + Math.random()));
  }

  #patience(): Patience {
    return { retries: RETRIES, givesUpAt: this.#connection.givesUpAt() };
  }

  /**
   * Reads, resuming after the last event when the connection breaks, as long as there is progress.
   * @param open how to read on after the last event; undefined if there is nothing more
   * @param isEnough whether to end before an event of the server or of this service
   */
  async *#resuming(
    task: Task,
    { retries, givesUpAt }: Patience,
    open: (
      last: StoredEvent | undefined,
    ) => ((client: NodeClient) => StreamingRead<{ event?: Parameters<typeof storedEvent>[0] }>) | undefined,
    isEnough: (recorded: RecordedEvent) => boolean = () => false,
  ): AsyncGenerator<StoredEvent> {
    let last: StoredEvent | undefined;
    let failures = 0;
    let untilMs = givesUpAt;
    for (;;) {
      this.#checkOpen();
      const read = open(last);
      if (read === undefined) return;
      let progressed = false;
      try {
        for await (const { event: recorded } of this.#connection.read(task, untilMs, read)) {
          progressed = true;
          if (recorded !== undefined && isEnough(recorded)) return;
          const event = storedEvent(recorded, this.#connection.names);
          if (event === undefined || event.id === last?.id) continue;
          last = event;
          yield event;
        }
        return;
      } catch (error) {
        if (error instanceof StreamNotFoundError) return;
        if (progressed) {
          failures = 0;
          untilMs = this.#connection.givesUpAt();
        }
        failures += 1;
        await this.#pauseBeforeRetry(error, failures, { retries, givesUpAt: untilMs });
      }
    }
  }

  async *subscribe({ after = LOG_START, types, signal }: Subscribe): AsyncGenerator<Batch> {
    this.#checkOpen();
    serverPosition(after);
    const stop = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    let position: Position = after;
    while (!stop.aborted) {
      const open = (): Promise<CatchUp> => CatchUp.open(this.#connection, { after: position, types, stop });
      const catchUp = await this.#connection.retryForever('Opening a catch-up subscription', open, stop);
      if (catchUp === undefined) return;
      try {
        for (;;) {
          const batch = await catchUp.next();
          if (batch === undefined) return;
          position = batch.position;
          yield batch;
        }
      } catch (error) {
        this.#connection.warn(error, 'Catch-up subscription dropped; resuming from its last position');
      } finally {
        catchUp.close();
      }
      await pause(RECONNECT_DELAY_MS, stop);
    }
  }

  async createGroup(group: string, options: CreateGroup): Promise<void> {
    this.#checkOpen();
    await this.#groups.create(this.#connection.names.onServer(group), options);
  }

  async moveGroup(group: string, options: CreateGroup): Promise<void> {
    this.#checkOpen();
    await this.#groups.move(this.#connection.names.onServer(group), options);
  }

  async groupPosition(group: string): Promise<Position | undefined> {
    this.#checkOpen();
    return this.#groups.position(this.#connection.names.onServer(group));
  }

  async consume(group: string, options: Consume, handler: HandleEvent): Promise<Consumer> {
    this.#checkOpen();
    return this.#groups.consume(this.#connection.names.onServer(group), options, handler);
  }

  parked(group: string): AsyncIterable<ParkedEvent> {
    this.#checkOpen();
    return this.#groups.parked(this.#connection.names.onServer(group));
  }

  reach(): Promise<void> {
    return this.#connection.retryWhileStarting('Connecting to EventStoreDB', () => this.ping());
  }

  /** The server says what time it is only by the time at which it stores an event. */
  async now(): Promise<number> {
    this.#checkOpen();
    const stream = this.#connection.names.onServer(CLOCK_STREAM);
    if (!this.#clockStreamIsBounded) {
      await this.#connection
        .call({ ...appendTo(stream), what: 'bounding the clock stream' }, (client) =>
          client.setStreamMetadata(stream, { maxCount: 1 }, { ...this.#withDeadline(), expectedRevision: NO_STREAM }),
        )
        // Another process has done it, or it may not: the stream then only takes more room.
        .catch((error: unknown) => {
          if (isTransient(error)) throw error;
        });
      this.#clockStreamIsBounded = true;
    }
    await this.#connection.call(appendTo(stream), (client) =>
      client.appendToStream(stream, jsonEvent({ type: CLOCK_TYPE, data: {} }), this.#withDeadline()),
    );
    // If another process has appended in the meantime, its event is the later one, and as good.
    const read = (client: NodeClient) =>
      client.readStream(stream, {
        direction: BACKWARDS,
        fromRevision: END,
        maxCount: 1,
        requiresLeader: true,
      });
    for await (const { event } of this.#connection.read(readOf(stream), this.#connection.givesUpAt(), read))
      if (event !== undefined) return event.created.getTime();
    throw new Error(`${stream} is empty, right after an append`);
  }

  #withDeadline(): Pick<AppendToStreamOptions, 'credentials' | 'deadline'> {
    return { credentials: this.#connection.credentials, deadline: this.#connection.deadlineMs };
  }

  async ping(): Promise<void> {
    this.#checkOpen();
    const read = (client: NodeClient) => client.readAll({ maxCount: 1, requiresLeader: true });
    await Array.fromAsync(
      this.#connection.read(
        { ...readOf('$all'), what: 'a ping' },
        performance.now() + this.#connection.deadlineMs,
        read,
      ),
    );
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    await this.#groups.close();
    await this.#connection.close();
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) throw new Error('The event store is closed');
  }
}
