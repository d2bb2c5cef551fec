import {
  type Appended,
  type Batch,
  type Consume,
  type Consumer,
  type CreateGroup,
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
} from '../event-store.ts';
import { type Outage, type OutageOptions, watchOutage } from '../outage.ts';
import { Appends } from './appends.ts';
import { CatchUp } from './catch-up.ts';
import { Connection, type ConnectionOptions, pause, RECONNECT_DELAY_MS } from './connection.ts';
import { ConsumerGroups } from './consumer-groups.ts';
import type { NodeClient } from './node-client.ts';
import { checkOpen, Reads } from './reads.ts';
import { readOf } from './rights.ts';
import { ServerClock } from './server-clock.ts';
import { serverPosition } from './stored-event.ts';

export type EventStoreDbOptions = ConnectionOptions &
  Pick<OutageOptions, 'onSuspected'> & {
    /** How long a consumer may take to handle an event before the server redelivers it, in milliseconds. Default 60 s. */
    readonly messageTimeoutMs?: number;
  };

/**
 * The event log in EventStoreDB / KurrentDB.
 * @throws {Unavailable} if the server cannot be reached within `startWithinMs`
 * @throws {UnusableStore} if the URL or the user is wrong
 */
export async function openEventStoreDb(options: EventStoreDbOptions): Promise<OperatedEventStore> {
  const store = new EventStoreDb(options);
  try {
    await store.reach();
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

class EventStoreDb implements OperatedEventStore {
  readonly #connection: Connection;
  readonly #groups: ConsumerGroups;
  readonly #reads: Reads;
  readonly #appends: Appends;
  readonly #clock: ServerClock;
  readonly #closing = new AbortController();
  readonly outage: Outage;

  constructor(options: EventStoreDbOptions) {
    this.outage = watchOutage(() => this.ping(), this.#closing.signal, options);
    this.#connection = new Connection(options, this.outage);
    this.#groups = new ConsumerGroups(this.#connection, options.messageTimeoutMs ?? 60_000);
    this.#reads = new Reads(this.#connection, this.#closing.signal);
    this.#appends = new Appends(this.#connection, this.#reads, this.#closing.signal);
    this.#clock = new ServerClock(this.#connection);
  }

  append(
    stream: string,
    events: readonly NewEvent[],
    options: { readonly expectedRevision: ExpectedRevision },
  ): Promise<Appended> {
    return this.#appends.append(stream, events, options);
  }

  load(events: readonly EventToLoad[]): Promise<readonly Position[]> {
    return this.#appends.load(events);
  }

  readStream(stream: string, options: ReadStream = {}): AsyncGenerator<StoredEvent> {
    return this.#reads.stream(stream, options);
  }

  readAll(options: ReadAll = {}): AsyncGenerator<StoredEvent> {
    return this.#reads.all(options);
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

  reach(): Promise<void> {
    return this.#connection.reach(() => this.ping());
  }

  async now(): Promise<number> {
    this.#checkOpen();
    return this.#clock.now();
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
    checkOpen(this.#closing.signal);
  }
}
