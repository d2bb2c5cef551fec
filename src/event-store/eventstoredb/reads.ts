import { setTimeout as sleep } from 'node:timers/promises';
import {
  BACKWARDS,
  END,
  FORWARDS,
  type RecordedEvent,
  START,
  type StreamingRead,
  StreamNotFoundError,
} from '@eventstore/db-client';
import { LogAway } from '../../runtime/unavailable.ts';
import { LOG_START, type Position, type ReadAll, type ReadStream, type StoredEvent } from '../event-store.ts';
import { CatchUp } from './catch-up.ts';
import { type Connection, isTransient } from './connection.ts';
import type { NodeClient } from './node-client.ts';
import { readOf, type Task } from './rights.ts';
import { positionOf, serverPosition, storedEvent } from './stored-event.ts';

/** Retries of a read that makes no progress, and of an append. */
export const RETRIES = 3;

/** How often a read without progress is resumed, and until when (monotonic, ms). */
export type RetryLimit = { readonly retries: number; readonly givesUpAt: number };

/** The end of the log at the last look, and the last event before it. */
type Tail = { readonly end: Position; readonly event: StoredEvent | undefined };

/** Whether the error means that the server is unreachable, rather than that the request is wrong. */
export const isServerUnavailable = (error: unknown, closing: AbortSignal): error is Error =>
  error instanceof Error && isTransient(error) && !closing.aborted;

/** @throws if the event store is being closed */
export function checkOpen(closing: AbortSignal): void {
  if (closing.aborted) throw new Error('The event store is closed');
}

/** Reads streams and the log, resuming after a broken connection. */
export class Reads {
  readonly #connection: Connection;
  readonly #closing: AbortSignal;
  #tail: Tail | undefined;

  constructor(connection: Connection, closing: AbortSignal) {
    this.#connection = connection;
    this.#closing = closing;
  }

  /** @param retryLimit default: the common limit, counted from the request for the first event */
  async *stream(stream: string, options: ReadStream, retryLimit?: RetryLimit): AsyncGenerator<StoredEvent> {
    checkOpen(this.#closing);
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
    // Starts with the request for the first event, which may come long after the call.
    const events = this.#resuming(readOf(onServer), retryLimit ?? this.#retryLimit(), open);
    // The server enforces the limit.
    for await (const event of events) {
      remaining -= 1;
      yield event;
    }
  }

  async *all(options: ReadAll): AsyncGenerator<StoredEvent> {
    checkOpen(this.#closing);
    const { after, direction = 'forward', limit = Number.MAX_SAFE_INTEGER } = options;
    if (limit <= 0) return;
    const backward = direction === 'backward';
    if (after !== undefined) serverPosition(after);
    if (!backward) return yield* this.#forward(after ?? LOG_START, options.types, limit);
    if (limit === 1 && after === undefined && options.types === undefined) return yield* this.#last();
    const types = options.types === undefined ? undefined : new Set(options.types);
    let remaining = limit;
    const events = this.#resuming(readOf('$all'), this.#retryLimit(), (last) => {
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
   * Reads the log forward to its end. Uses a subscription, because the server filters it and reports progress even where no event
   * is ours.
   */
  async *#forward(after: Position, types: readonly string[] | undefined, limit: number): AsyncGenerator<StoredEvent> {
    let position = after;
    let remaining = limit;
    let failures = 0;
    let givesUpAt = this.#connection.givesUpAt();
    for (;;) {
      checkOpen(this.#closing);
      let progressed = false;
      let catchUp: CatchUp | undefined;
      try {
        const options = { after: position, types, stop: this.#closing };
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
   * The last event. Called every second, so it reads only events added since the last call: even for an idle service, the server
   * keeps adding system events.
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
    for await (const found of this.#resuming(readOf('$all'), this.#retryLimit(), () => read, isKnown)) {
      event = found;
      break;
    }
    this.#tail = { end, event };
    if (event !== undefined) yield event;
  }

  /**
   * Waits before resuming a read, longer after each failure in a row.
   * @throws {LogAway} after the last retry; the error itself if it is permanent
   */
  async #pauseBeforeRetry(error: unknown, failures: number, { retries, givesUpAt }: RetryLimit): Promise<void> {
    if (!isServerUnavailable(error, this.#closing)) throw error;
    if (failures > retries || performance.now() > givesUpAt) throw new LogAway(error.message, error);
    await sleep(50 * 3 ** failures * (0.5 + Math.random()));
  }

  #retryLimit(): RetryLimit {
    return { retries: RETRIES, givesUpAt: this.#connection.givesUpAt() };
  }

  /**
   * Reads, resuming after the last event when the connection breaks, as long as there is progress.
   * @param open opens a read after the last event; undefined at the end
   * @param isEnough whether to end before an event of the server or of this service
   */
  async *#resuming(
    task: Task,
    { retries, givesUpAt }: RetryLimit,
    open: (
      last: StoredEvent | undefined,
    ) => ((client: NodeClient) => StreamingRead<{ event?: Parameters<typeof storedEvent>[0] }>) | undefined,
    isEnough: (recorded: RecordedEvent) => boolean = () => false,
  ): AsyncGenerator<StoredEvent> {
    let last: StoredEvent | undefined;
    let failures = 0;
    let untilMs = givesUpAt;
    for (;;) {
      checkOpen(this.#closing);
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
}
