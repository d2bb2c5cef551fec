import { BACKWARDS, END, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { type Connection, isTransient } from './connection.ts';
import type { NodeClient } from './node-client.ts';
import { appendTo, readOf } from './rights.ts';

/** The stream of its events. Their type begins with `$`, so that only this file sees them. */
const CLOCK_STREAM = 'clock';
const CLOCK_TYPE = '$venue-clock';

/**
 * Reads the server's clock from the creation time of an appended event.
 * @returns asks for the time, in milliseconds since the epoch
 */
export function createServerClock(connection: Connection): () => Promise<number> {
  const stream = connection.names.onServer(CLOCK_STREAM);
  const withDeadline = { credentials: connection.credentials, deadline: connection.deadlineMs };
  let isStreamBounded = false;

  async function boundStream(): Promise<void> {
    const task = { ...appendTo(stream), what: 'bounding the clock stream' };
    const once = { ...withDeadline, expectedRevision: NO_STREAM } as const;
    await connection
      .call(task, (client) => client.setStreamMetadata(stream, { maxCount: 1 }, once))
      // Another process has already set it, or the user lacks the right. The stream then only takes more space.
      .catch((error: unknown) => {
        if (isTransient(error)) throw error;
      });
    isStreamBounded = true;
  }

  return async () => {
    if (!isStreamBounded) await boundStream();
    await connection.call(appendTo(stream), (client) =>
      client.appendToStream(stream, jsonEvent({ type: CLOCK_TYPE, data: {} }), withDeadline),
    );
    // A later event by another process is just as good.
    const read = (client: NodeClient) =>
      client.readStream(stream, { direction: BACKWARDS, fromRevision: END, maxCount: 1, requiresLeader: true });
    for await (const { event } of connection.read(readOf(stream), connection.givesUpAt(), read))
      if (event !== undefined) return event.created.getTime();
    throw new Error(`${stream} is empty, right after an append`);
  };
}
