import {
  type AllStreamResolvedEvent,
  type AllStreamSubscription,
  type EventStoreDBClient,
  eventTypeFilter,
} from '@eventstore/db-client';
import { Wakeup } from '../../runtime/wakeup.ts';
import type { Batch, Position, StoredEvent } from '../event-store.ts';
import { type Connection, within } from './connection.ts';
import { positionOf, serverPosition, storedEvent } from './stored-event.ts';

const MOST_EVENTS = 512;
/** After how many events, dropped ones included, the server says where a filtered subscription stands. */
const CHECKPOINT_EVERY = 256;

/** One catch-up subscription, as long as its connection holds. */
export class CatchUp {
  readonly #connection: Connection;
  readonly #client: EventStoreDBClient;
  readonly #subscription: AllStreamSubscription;
  readonly #stop: AbortSignal;
  readonly #wakeup = new Wakeup();
  #position: Position;
  #checkpoint: Position;
  #live = false;
  #toldLive = false;
  #failure: Error | undefined;
  readonly #confirmed = Promise.withResolvers<void>();
  readonly #onStop = (): void => this.#fail(new Error('The subscriber has stopped'));

  private constructor(
    connection: Connection,
    after: Position,
    types: readonly string[] | undefined,
    stop: AbortSignal,
  ) {
    this.#connection = connection;
    this.#client = connection.open();
    this.#stop = stop;
    this.#position = after;
    this.#checkpoint = after;
    this.#subscription = this.#client.subscribeToAll(
      {
        fromPosition: serverPosition(after),
        filter: eventTypeFilter({
          regex: types === undefined ? '^[^$]' : anyOf(types),
          checkpointInterval: 1,
          maxSearchWindow: CHECKPOINT_EVERY,
          // Must not throw: the client would wait for ever for its end.
          checkpointReached: (_subscription, position) => {
            this.#checkpoint = positionOf(position);
            this.#wakeup.wake();
          },
        }),
      },
      { highWaterMark: MOST_EVENTS },
    );
    this.#subscription
      .on('confirmation', () => this.#confirmed.resolve())
      .on('readable', this.#wakeup.wake)
      .on('caughtUp', () => this.#setLive(true))
      .on('fellBehind', () => this.#setLive(false))
      // Stays for good: an error that nobody hears would end the process.
      .on('error', (error) => this.#fail(error))
      .on('end', () => this.#fail(new Error('The server ended the subscription')))
      .on('close', () => this.#fail(new Error('The subscription was closed')));
    stop.addEventListener('abort', this.#onStop);
  }

  /** Rejects when the server does not confirm the subscription in time, or `stop` is aborted. */
  static async open(
    connection: Connection,
    after: Position,
    types: readonly string[] | undefined,
    stop: AbortSignal,
  ): Promise<CatchUp> {
    const catchUp = new CatchUp(connection, after, types, stop);
    try {
      await within(connection.deadlineMs, 'a subscription', catchUp.#confirmed.promise);
      return catchUp;
    } catch (error) {
      catchUp.close();
      throw error;
    }
  }

  /** The next batch; undefined when `stop` was aborted. Rejects when the subscription has ended, however it did. */
  async next(): Promise<Batch | undefined> {
    while (!this.#stop.aborted) {
      const batch = this.#read();
      if (batch !== undefined) return batch;
      if (this.#failure !== undefined) throw this.#failure;
      await this.#wakeup.wait();
    }
    return undefined;
  }

  close(): void {
    this.#stop.removeEventListener('abort', this.#onStop);
    this.#subscription.unsubscribe().catch(() => {});
    this.#subscription.destroy();
    this.#connection.release(this.#client);
  }

  #read(): Batch | undefined {
    const before = this.#position;
    const events: StoredEvent[] = [];
    let resolved: AllStreamResolvedEvent | null = null;
    while (events.length < MOST_EVENTS) {
      resolved = this.#subscription.read();
      if (resolved === null) break;
      const event = storedEvent(resolved.event);
      if (event === undefined || event.position <= this.#position) continue;
      this.#position = event.position;
      events.push(event);
    }
    const drained = resolved === null;
    // A checkpoint may lag behind the events, and counts for those before it only once they have been read.
    if (drained && this.#checkpoint > this.#position) this.#position = this.#checkpoint;
    const caughtUp = drained && this.#live;
    if (this.#position === before && (!caughtUp || this.#toldLive)) return undefined;
    this.#toldLive = caughtUp;
    return { events, position: this.#position, caughtUp };
  }

  #setLive(live: boolean): void {
    this.#live = live;
    this.#toldLive &&= live;
    this.#wakeup.wake();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#confirmed.reject(error);
    this.#wakeup.wake();
  }
}

/** A regular expression of the server that matches these types and no other. */
function anyOf(types: readonly string[]): string {
  return `^(${types.map((type) => type.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`;
}
