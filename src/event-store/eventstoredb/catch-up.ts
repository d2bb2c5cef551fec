import { type AllStreamResolvedEvent, type AllStreamSubscription, eventTypeFilter } from '@eventstore/db-client';
import { Wakeup } from '../../runtime/wakeup.ts';
import type { Batch, Position, StoredEvent } from '../event-store.ts';
import type { Connection } from './connection.ts';
import type { NodeClient } from './node-client.ts';
import { SUBSCRIBE } from './rights.ts';
import { positionOf, serverPosition, storedEvent } from './stored-event.ts';

const MAX_EVENTS_PER_BATCH = 512;
/** The server sends a checkpoint to a filtered subscription after this many events, including filtered-out ones. */
const SEARCH_WINDOW = 256;

type Options = {
  /** The position after which it begins. */
  readonly after: Position;
  /** The event types. Default: all. */
  readonly types: readonly string[] | undefined;
  readonly stop: AbortSignal;
};

/** One catch-up subscription over one connection. It does not reconnect. */
export class CatchUp {
  readonly #connection: Connection;
  readonly #client: NodeClient;
  readonly #subscription: AllStreamSubscription;
  readonly #stop: AbortSignal;
  readonly #wakeup = new Wakeup();
  #position: Position;
  #checkpoint: Position;
  #live = false;
  #liveReported = false;
  #failure: Error | undefined;
  readonly #confirmed = Promise.withResolvers<void>();
  readonly #onStop = (): void => this.#fail(new Error('The subscriber stopped'));
  readonly #withdraw: () => void;
  readonly #end: () => void;

  private constructor(connection: Connection, client: NodeClient, { after, types, stop }: Options, end: () => void) {
    this.#end = end;
    this.#connection = connection;
    this.#client = client;
    this.#stop = stop;
    this.#position = after;
    this.#checkpoint = after;
    this.#subscription = this.#client.subscribeToAll(
      {
        fromPosition: serverPosition(after),
        requiresLeader: true,
        filter: eventTypeFilter({
          regex: connection.names.filter(types),
          checkpointInterval: 1,
          maxSearchWindow: SEARCH_WINDOW,
          // Must not throw, or the client would wait forever.
          checkpointReached: (_subscription, position) => {
            this.#checkpoint = positionOf(position);
            this.#wakeup.wake();
          },
        }),
      },
      { highWaterMark: MAX_EVENTS_PER_BATCH },
    );
    this.#withdraw = client.onGivenUp((error) => this.#fail(error));
    this.#subscription
      .on('confirmation', () => this.#confirmed.resolve())
      .on('readable', this.#wakeup.wake)
      .on('caughtUp', () => this.#setLive(true))
      .on('fellBehind', () => this.#setLive(false))
      // Never removed: an 'error' event without a listener would crash the process.
      .on('error', (error) => this.#fail(error))
      .on('end', () => this.#fail(new Error('The server ended the subscription')))
      .on('close', () => this.#fail(new Error('The subscription was closed')));
    stop.addEventListener('abort', this.#onStop);
    if (stop.aborted) this.#onStop();
  }

  /**
   * Opens it once there is a leader. Rejects if the leader does not confirm the subscription within the deadline, or if `stop` is
   * aborted.
   */
  static async open(connection: Connection, options: Options): Promise<CatchUp> {
    const client = await connection.open(options.stop);
    return CatchUp.#on(connection, client, options, () => connection.release(client));
  }

  /** Like {@link open}, on the client shared by all reads. @param givesUpAt how long to wait for a leader */
  static async openShared(connection: Connection, options: Options, givesUpAt: number): Promise<CatchUp> {
    const client = await connection.reader(givesUpAt);
    return CatchUp.#on(connection, client, options, () => {});
  }

  static async #on(connection: Connection, client: NodeClient, options: Options, end: () => void): Promise<CatchUp> {
    const { stop } = options;
    const catchUp = new CatchUp(connection, client, options, end);
    try {
      await connection.answer(client, connection.deadlineMs, SUBSCRIBE, catchUp.#confirmed.promise);
      return catchUp;
    } catch (error) {
      if (!stop.aborted) connection.failed(client, error);
      catchUp.close();
      throw error;
    }
  }

  /** The next batch; undefined if `stop` is aborted. Rejects if the subscription ends for any other reason. */
  async next(): Promise<Batch | undefined> {
    while (!this.#stop.aborted) {
      const batch = this.#read();
      if (batch !== undefined) return batch;
      if (this.#failure !== undefined) {
        if (!this.#stop.aborted) this.#connection.failed(this.#client, this.#failure);
        throw this.#failure;
      }
      await this.#wakeup.wait();
    }
    return undefined;
  }

  /** Like {@link next}, during catch-up: the server then sends events or checkpoints all the time, so silence means a failure. */
  async nextWhileBehind(): Promise<Batch | undefined> {
    return this.#connection.answer(this.#client, this.#connection.deadlineMs, SUBSCRIBE, this.next());
  }

  close(): void {
    this.#withdraw();
    this.#stop.removeEventListener('abort', this.#onStop);
    this.#subscription.unsubscribe().catch(() => {});
    this.#subscription.destroy();
    this.#end();
  }

  #read(): Batch | undefined {
    const before = this.#position;
    const events: StoredEvent[] = [];
    let resolved: AllStreamResolvedEvent | null = null;
    while (events.length < MAX_EVENTS_PER_BATCH) {
      resolved = this.#subscription.read();
      if (resolved === null) break;
      const event = storedEvent(resolved.event, this.#connection.names);
      if (event === undefined || event.position <= this.#position) continue;
      this.#position = event.position;
      events.push(event);
    }
    const drained = resolved === null;
    // A checkpoint may lag behind the events, and is valid only once the buffered events before it have been read.
    if (drained && this.#checkpoint > this.#position) this.#position = this.#checkpoint;
    const caughtUp = drained && this.#live;
    if (this.#position === before && (!caughtUp || this.#liveReported)) return undefined;
    this.#liveReported = caughtUp;
    return { events, position: this.#position, caughtUp };
  }

  #setLive(live: boolean): void {
    this.#live = live;
    this.#liveReported &&= live;
    this.#wakeup.wake();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#confirmed.reject(error);
    this.#wakeup.wake();
  }
}
