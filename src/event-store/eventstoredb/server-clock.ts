import { type AppendToStreamOptions, BACKWARDS, END, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import { type Connection, isTransient } from './connection.ts';
import type { NodeClient } from './node-client.ts';
import { appendTo, readOf } from './rights.ts';

/** The stream of its events. Their type begins with `$`, so that only this file sees them. */
const CLOCK_STREAM = 'clock';
const CLOCK_TYPE = '$venue-clock';

/** Reads the server's clock from the creation time of an appended event. */
export class ServerClock {
  readonly #connection: Connection;
  #isStreamBounded = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Milliseconds since the epoch. */
  async now(): Promise<number> {
    const stream = this.#connection.names.onServer(CLOCK_STREAM);
    if (!this.#isStreamBounded) {
      await this.#connection
        .call({ ...appendTo(stream), what: 'bounding the clock stream' }, (client) =>
          client.setStreamMetadata(stream, { maxCount: 1 }, { ...this.#withDeadline(), expectedRevision: NO_STREAM }),
        )
        // Another process has already set it, or the user lacks the right. The stream then only takes more space.
        .catch((error: unknown) => {
          if (isTransient(error)) throw error;
        });
      this.#isStreamBounded = true;
    }
    await this.#connection.call(appendTo(stream), (client) =>
      client.appendToStream(stream, jsonEvent({ type: CLOCK_TYPE, data: {} }), this.#withDeadline()),
    );
    // A later event by another process is just as good.
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
}
