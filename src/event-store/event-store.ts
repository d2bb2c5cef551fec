/**
 * The event log, the service's single source of truth. Two adapters implement this port, `sqlite/` (embedded) and
 * `eventstoredb/` (EventStoreDB / KurrentDB); `test/contract/event-store.ts` runs one contract suite against both.
 */

import type { Outage } from './outage.ts';

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** The position of an event in the log. Opaque; sorts as text in log order (docs/decisions/processes.md). */
export type Position = string;

/** The position before the first event: `readAll({ after: LOG_START })` reads everything. */
export const LOG_START: Position = '';

/** An event to append. Without an `id` (UUID) the store generates one. */
export type NewEvent = {
  readonly id?: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: JsonObject;
};

/** An event as it is on every engine. `revision` counts from 0 within its stream. */
export type StreamEvent = {
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  readonly data: JsonObject;
  readonly metadata: JsonObject;
};

/** An event as stored, with its position in this log. */
export type StoredEvent = StreamEvent & { readonly position: Position };

/** An event of another log. Without a position it is appended at the end. Engines that assign positions ignore it. */
export type EventToLoad = StreamEvent & { readonly position?: Position };

/** The revision a stream must be at for an append to succeed: that of its last event, or `'none'` if it must not exist. */
export type ExpectedRevision = number | 'none';

export type Appended = {
  /** Revision of the last event appended. */
  readonly revision: number;
  /** Position of the last event appended. */
  readonly position: Position;
};

export type ReadStream = {
  /** First revision to read, inclusive. Default: 0. */
  readonly from?: number;
  readonly limit?: number;
};

export type ReadAll = {
  readonly after?: Position;
  readonly types?: readonly string[];
  readonly limit?: number;
};

export type Subscribe = {
  readonly after?: Position;
  readonly types?: readonly string[];
  /** Ends the iteration immediately and without an error. */
  readonly signal?: AbortSignal;
};

/** Events in log order. `position` is the position to resume from; it also advances past events that the filter drops. */
export type Batch = {
  readonly events: readonly StoredEvent[];
  readonly position: Position;
  /** Whether the batch reached the end of the log as of when it was read. */
  readonly caughtUp: boolean;
};

/** The events of a consumer group. */
type Group = {
  /** The event types of the group, the same for all of its consumers. */
  readonly types: readonly string[];
};

export type HandleEvent = (event: StoredEvent) => Promise<void>;

export type Consume = Group & {
  /** The position after which a group begins that the engine does not know. */
  readonly after: () => Position;
  /** Events that this consumer handles concurrently. Default 8. */
  readonly concurrency?: number;
};

export type Consumer = {
  /** Stops receiving events and waits for running handlers. */
  close(): Promise<void>;
};

export type EventStore = {
  /**
   * Appends events to one stream, atomically and durably.
   * @throws {WrongExpectedRevision} if the stream is not at `expectedRevision`
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expectedRevision: ExpectedRevision },
  ): Promise<Appended>;

  /** Reads one stream; a stream that does not exist reads as empty. */
  readStream(stream: string, options?: ReadStream): AsyncIterable<StoredEvent>;

  /** Reads the log up to its end as of the start of the read. */
  readAll(options?: ReadAll): AsyncIterable<StoredEvent>;

  /** The last event in the log, if there is any. */
  lastEvent(): Promise<StoredEvent | undefined>;

  /** Catch-up subscription. Never ends by itself: after any failure it resumes from the last position, with backoff. */
  subscribe(options: Subscribe): AsyncIterable<Batch>;

  /**
   * Joins a group, creating it if it does not exist. It hands out new events at once, but does not promise every event: engines may lose
   * events that wait while no process is in the group, and may hand out events at or before `after`. One process at a time should be in a
   * group: if two are for a moment, engines may give an event to one of them or to both. An event is acknowledged when the handler resolves.
   * If the handler throws, it is called again after a pause of 100 ms to 2 s. Deliveries are not counted, and no event is ever parked
   * (docs/decisions/outbox.md).
   */
  consume(group: string, options: Consume, handler: HandleEvent): Promise<Consumer>;

  /** Resolves if the store responds, rejects otherwise. */
  ping(): Promise<void>;

  readonly outage: Outage;

  close(): Promise<void>;
};

/** Operator functions: restoring a log, and the first start of the service on it. */
type EventStoreOperations = {
  /**
   * Fills an empty log with the events of a backup or an export, in order and with their ids. No other append may run meanwhile.
   * @returns their positions: the original ones, if the engine can choose positions (docs/decisions/backups.md)
   * @throws if a stream is not at the revision before that of its next event
   */
  load(events: readonly EventToLoad[]): Promise<readonly Position[]>;

  /** @throws {UnusableStore} if the process may not manage the consumer groups of the engine */
  checkGroupRights(): Promise<void>;
};

/** An event store as an adapter opens it. */
export type OperatedEventStore = EventStore & EventStoreOperations;

/** The position of the last event in the log; `LOG_START` if there is none. */
export const logEnd = async (events: Pick<EventStore, 'lastEvent'>): Promise<Position> =>
  (await events.lastEvent())?.position ?? LOG_START;

/** Optimistic concurrency conflict: another writer appended to the stream first. */
export class WrongExpectedRevision extends Error {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly actual: ExpectedRevision;

  constructor(stream: string, expected: ExpectedRevision, actual: ExpectedRevision) {
    super(`Stream ${stream} is at revision ${actual}, expected ${expected}`);
    this.name = 'WrongExpectedRevision';
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}
