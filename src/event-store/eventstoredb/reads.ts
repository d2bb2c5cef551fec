import { setTimeout as sleep } from 'node:timers/promises';
import { BACKWARDS, END, type RecordedEvent, type StreamingRead, StreamNotFoundError } from '@eventstore/db-client';
import { LogUnavailable } from '../../runtime/unavailable.ts';
import { LOG_START, type Position, type ReadAll, type ReadStream, type StoredEvent } from '../event-store.ts';
import { openCatchUp } from './catch-up.ts';
import type { Connection } from './connection.ts';
import { isTransient } from './failures.ts';
import { StoreClosed } from './leader.ts';
import type { NodeClient } from './node-client.ts';
import { readOf, type Task } from './rights.ts';
import { positionOf, storedEvent } from './stored-event.ts';

/** Retries of a read that makes no progress, and of an append. */
export const RETRIES = 3;

/** How often a read without progress is resumed, and until when (monotonic, ms). */
export type RetryLimit = { readonly retries: number; readonly givesUpAt: number };

/** Opens a read after the last event; undefined at the end. */
type Open = (
  last: StoredEvent | undefined,
) => ((client: NodeClient) => StreamingRead<{ event?: Parameters<typeof storedEvent>[0] }>) | undefined;

/** The end of the log at the last read, and the last event before it. */
type Tail = { readonly end: Position; readonly event: StoredEvent | undefined };

export type Reads = ReturnType<typeof createReads>;

/** Reads streams and the log, resuming after a broken connection. */
export function createReads(connection: Connection) {
  const { names } = connection;
  let tail: Tail | undefined;

  /** @param retryLimit default: the common limit, counted from the request for the first event */
  async function* stream(
    name: string,
    { from = 0, limit = Number.MAX_SAFE_INTEGER }: ReadStream = {},
    retryLimit?: RetryLimit,
  ): AsyncGenerator<StoredEvent> {
    if (limit <= 0) return;
    let remaining = limit;
    const onServer = names.onServer(name);
    const open: Open = (last) => {
      if (remaining === 0) return undefined;
      const fromRevision = BigInt(last === undefined ? from : last.revision + 1);
      return (client) => client.readStream(onServer, { fromRevision, maxCount: remaining, requiresLeader: true });
    };
    // The server enforces the limit.
    for await (const event of eventsOf(readOf(onServer), open, { retryLimit })) {
      remaining -= 1;
      yield event;
    }
  }

  /**
   * Reads the log to its end. Uses a subscription, because the server filters it and reports progress even where no event is ours.
   */
  function all({
    after = LOG_START,
    types,
    limit = Number.MAX_SAFE_INTEGER,
  }: ReadAll = {}): AsyncGenerator<StoredEvent> {
    const stop = connection.closing;
    let position = after;
    let remaining = limit;
    return resuming(connection, async function* (givesUpAt, progressed) {
      if (remaining <= 0) return;
      const client = await connection.reader(givesUpAt);
      const catchUp = await openCatchUp(connection, client, { after: position, types, stop });
      try {
        for (;;) {
          const batch = await catchUp.nextWhileBehind();
          if (batch === undefined) throw new StoreClosed();
          if (batch.position > position) progressed();
          position = batch.position;
          for (const event of batch.events) {
            yield event;
            remaining -= 1;
            if (remaining === 0) return;
          }
          if (batch.caughtUp) return;
        }
      } finally {
        catchUp.close();
      }
    });
  }

  /**
   * The last event. Called every second, so it reads only events added since the last call: even for an idle service, the server
   * keeps adding system events.
   */
  async function lastEvent(): Promise<StoredEvent | undefined> {
    const before = tail;
    let { end = LOG_START, event }: Partial<Tail> = before ?? {};
    const isBefore = (recorded: RecordedEvent): boolean => {
      const position = positionOf(recorded.position ?? { commit: 0n, prepare: 0n });
      if (position > end) end = position;
      return before !== undefined && position <= before.end;
    };
    const open: Open = () => (client) =>
      client.readAll({ fromPosition: END, direction: BACKWARDS, requiresLeader: true });
    for await (const last of eventsOf(readOf('$all'), open, { isEnough: isBefore })) {
      event = last;
      break;
    }
    tail = { end, event };
    return event;
  }

  /**
   * Yields the events of this service, resuming after the last one when the connection breaks.
   * @param options.isEnough whether to end before an event, which may be one of the server or of another application
   */
  function eventsOf(
    task: Task,
    open: Open,
    {
      retryLimit,
      isEnough = () => false,
    }: { readonly retryLimit?: RetryLimit | undefined; readonly isEnough?: (recorded: RecordedEvent) => boolean } = {},
  ): AsyncGenerator<StoredEvent> {
    let latest: StoredEvent | undefined;
    return resuming(
      connection,
      async function* (givesUpAt, progressed) {
        const read = open(latest);
        if (read === undefined) return;
        for await (const { event: recorded } of connection.read(task, givesUpAt, read)) {
          progressed();
          if (recorded !== undefined && isEnough(recorded)) return;
          const event = storedEvent(recorded, names);
          if (event === undefined || event.id === latest?.id) continue;
          latest = event;
          yield event;
        }
      },
      retryLimit,
    );
  }

  return { stream, all, lastEvent };
}

/**
 * Repeats a read after transient failures, with growing pauses, as long as there is progress.
 * @param read continues where the previous attempt ended; calls `progressed` when it receives anything
 * @throws {LogUnavailable} after the last retry; the error itself if it is permanent
 */
async function* resuming<T>(
  connection: Connection,
  read: (givesUpAt: number, progressed: () => void) => AsyncGenerator<T>,
  { retries, givesUpAt }: RetryLimit = { retries: RETRIES, givesUpAt: connection.givesUpAt() },
): AsyncGenerator<T> {
  let untilMs = givesUpAt;
  for (let failures = 1; ; failures += 1) {
    let hasProgressed = false;
    const progressed = (): void => {
      hasProgressed = true;
    };
    try {
      return yield* read(untilMs, progressed);
    } catch (error) {
      if (error instanceof StreamNotFoundError) return;
      if (hasProgressed) {
        failures = 1;
        untilMs = connection.givesUpAt();
      }
      if (!isTransient(error)) throw error;
      if (failures > retries || performance.now() > untilMs) throw new LogUnavailable(error.message, error);
      await sleep(50 * 3 ** failures * (0.5 + Math.random()));
    }
  }
}
