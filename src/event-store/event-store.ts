/**
 * The event log: the only truth of the service. Two adapters implement this port, `sqlite/` (embedded) and `eventstoredb/`
 * (EventStoreDB / KurrentDB); `test/contract/event-store.ts` holds both to the same promises.
 */

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Where an event stands in the whole log. Opaque; sorts as text in log order. */
export type Position = string;

/** The position before the first event: `readAll({ after: LOG_START })` reads everything. */
export const LOG_START: Position = '';

/** An event that is about to be appended. `id` (UUID) is made by the store when it is absent. */
export type NewEvent = {
  readonly id?: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: JsonObject;
};

/** An event as the log holds it. `revision` counts from 0 within its stream. */
export type StoredEvent = {
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: Position;
  readonly data: JsonObject;
  readonly metadata: JsonObject;
};

/** The revision the stream must have for an append to succeed: that of its last event, or `'none'` (no such stream yet). */
export type ExpectedRevision = number | 'none';

export type Appended = {
  /** Revision of the last event appended. */
  readonly revision: number;
  /** Position of the last event appended. */
  readonly position: Position;
};

export type ReadStream = {
  /** First revision read; default: the start (forward) or the end (backward). Inclusive. */
  readonly from?: number;
  readonly direction?: 'forward' | 'backward';
  readonly limit?: number;
};

export type ReadAll = {
  /** Forward: only events after it; backward: only events before it. Default: everything. */
  readonly after?: Position;
  readonly types?: readonly string[];
  readonly direction?: 'forward' | 'backward';
  readonly limit?: number;
};

export type Subscribe = {
  readonly after?: Position;
  readonly types?: readonly string[];
  /** Ends the iteration, at once and without an error. */
  readonly signal?: AbortSignal;
};

/** Events in log order. `position` is where the subscriber stands after it, even when the filter dropped events. */
export type Batch = {
  readonly events: readonly StoredEvent[];
  readonly position: Position;
  /** True when nothing more was in the log when the batch was read. */
  readonly caughtUp: boolean;
};

export type Consume = {
  readonly types?: readonly string[];
  /** Attempts after the first before an event is parked. Default 10. */
  readonly maxRetries?: number;
  /** Events handled at the same moment by this consumer. Default 8. */
  readonly concurrency?: number;
};

export type Consumer = {
  /** Stops taking events, waits for the handlers under way. */
  close(): Promise<void>;
};

export type ParkedEvent = {
  /** Id of the parked event, as taken by `replayParked`. */
  readonly id: string;
  readonly event: StoredEvent;
  readonly reason: string;
  /** ISO 8601, UTC. */
  readonly parkedAt: string;
};

export type EventStore = {
  /**
   * Appends events to one stream, all or none, durably.
   * @throws {WrongExpectedRevision} when the stream is not at `expectedRevision`
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expectedRevision: ExpectedRevision },
  ): Promise<Appended>;

  /** Reads one stream; a stream that does not exist is empty. */
  readStream(stream: string, options?: ReadStream): AsyncIterable<StoredEvent>;

  readAll(options?: ReadAll): AsyncIterable<StoredEvent>;

  /** Catch-up subscription. Never ends by itself: resumes from the last position, with backoff, whatever went wrong. */
  subscribe(options: Subscribe): AsyncIterable<Batch>;

  /**
   * Joins the persistent subscription `group` (made when absent, from the start of the log) as one of its competing
   * consumers. The handler resolves → acknowledged; throws → retried; after `maxRetries` → parked with the reason.
   */
  consume(group: string, options: Consume, handler: (event: StoredEvent) => Promise<void>): Promise<Consumer>;

  parked(group: string): AsyncIterable<ParkedEvent>;

  /** Puts parked events (one, or all) back into the group; answers how many. */
  replayParked(group: string, id?: string): Promise<number>;

  /** Resolves when the store answers. Throws otherwise. */
  ping(): Promise<void>;

  close(): Promise<void>;
};

/** The stream had moved on: somebody else appended first. */
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
