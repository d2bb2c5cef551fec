import {
  type EventStoreDBClient,
  eventTypeFilter,
  jsonEvent,
  PARK,
  PersistentSubscriptionDoesNotExistError,
  PersistentSubscriptionExistsError,
  type PersistentSubscriptionToAll,
  type PersistentSubscriptionToAllResolvedEvent,
  persistentSubscriptionToAllSettingsFromDefaults,
  RETRY,
  type RecordedEvent,
  START,
  StreamNotFoundError,
} from '@eventstore/db-client';
import type { Consume, Consumer, ParkedEvent, StoredEvent } from '../event-store.ts';
import { type Connection, pause, RECONNECT_DELAY_MS, readWithin, within } from './connection.ts';
import { hasPosition, storedEvent } from './stored-event.ts';

/** The nth retry follows after 100 ms × 2^(n-1), up to this. It delays the nack, so it is below the message timeout. */
const MAX_BACKOFF_MS = 5_000;
/**
 * How far the server's retry limit exceeds ours. After the last retry the consumer parks the event itself, with the reason. The
 * server also counts deliveries to consumers that were lost, and parks an event when those exhaust its limit.
 */
const SERVER_RETRY_HEADROOM = 10;
/**
 * The server can only replay all parked events of a group. To replay one, an event of this type that refers to it is appended:
 * the group receives it like any other, and the consumer handles the event it refers to. No other file sees these events.
 */
const REPLAY_TYPE = '$venue-parked-replay';

type Handler = (event: StoredEvent) => Promise<void>;
type Resolved = PersistentSubscriptionToAllResolvedEvent;
/** The data of a replay: the event it refers to, and the revision of that event's entry in the parked stream. */
type Replay = { readonly stream: string; readonly revision: number; readonly parked: number };

/** Persistent subscriptions to `$all`. */
export class ConsumerGroups {
  readonly #connection: Connection;
  readonly #messageTimeoutMs: number;
  readonly #consumers = new Set<GroupConsumer>();

  constructor(connection: Connection, messageTimeoutMs: number) {
    this.#connection = connection;
    this.#messageTimeoutMs = messageTimeoutMs;
  }

  async consume(group: string, options: Consume, handler: Handler): Promise<Consumer> {
    await this.#connection.retryWhileStarting(`Creating consumer group ${group}`, () => this.#create(group, options));
    const consumer = new GroupConsumer(group, options, handler, this.#connection, () => this.#create(group, options));
    this.#consumers.add(consumer);
    return {
      close: async () => {
        await consumer.close();
        this.#consumers.delete(consumer);
      },
    };
  }

  async *parked(group: string): AsyncGenerator<ParkedEvent> {
    for await (const { parked } of this.#parkedEntries(group)) yield parked;
  }

  async replayParked(group: string, id?: string): Promise<number> {
    const entries = await Array.fromAsync(this.#parkedEntries(group));
    if (entries.length === 0) return 0;
    const chosen = entries.filter(({ parked }) => id === undefined || parked.id === id);
    const count = await this.#countParked(group);
    if (chosen.length === count) {
      // All of them: the server can do that itself, and truncates the parked stream.
      await this.#connection.call('a replay', (client) => client.replayParkedMessagesToAll(group));
      return chosen.length;
    }
    for (const { parked, revision } of chosen) {
      const data: Replay = { stream: parked.event.stream, revision: parked.event.revision, parked: revision };
      await this.#connection.call('a replay', (client) =>
        client.appendToStream(replayStream(group), jsonEvent({ type: REPLAY_TYPE, data }), {
          credentials: this.#connection.credentials,
        }),
      );
    }
    return chosen.length;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
  }

  async #create(group: string, options: Consume): Promise<void> {
    const settings = persistentSubscriptionToAllSettingsFromDefaults({
      // The default is the end of the log: events older than the group would never be delivered.
      startFrom: START,
      messageTimeout: this.#messageTimeoutMs,
      maxRetryCount: (options.maxRetries ?? 10) + SERVER_RETRY_HEADROOM,
      checkPointAfter: 1_000,
    });
    // A group's filter cannot be changed later, so each consumer filters by type itself.
    const filter = eventTypeFilter({ regex: `^([^$]|${REPLAY_TYPE.replace('$', '\\$')}$)` });
    const create = (): Promise<void> =>
      this.#connection.call('the creation of a consumer group', (client) =>
        client.createPersistentSubscriptionToAll(group, settings, { filter, deadline: this.#connection.deadlineMs }),
      );
    await create().catch((error: unknown) => {
      if (!(error instanceof PersistentSubscriptionExistsError)) throw error;
    });
  }

  /** The parked events that have not been replayed individually, with their revisions in the parked stream. */
  async *#parkedEntries(group: string): AsyncGenerator<{ readonly parked: ParkedEvent; readonly revision: number }> {
    const replayed = new Set<number>();
    for await (const { event } of this.#readStream(replayStream(group))) {
      const replay = replayOf(event);
      if (replay !== undefined) replayed.add(replay.parked);
    }
    for await (const { link, event: resolved } of this.#readStream(parkedStream(group))) {
      const revision = Number(link?.revision);
      const event = await eventOf(this.#connection, resolved);
      if (link === undefined || event === undefined || replayed.has(revision)) continue;
      const { reason, added } = parkedMetadata(link.metadata);
      yield { parked: { id: event.id, event, reason, parkedAt: added ?? link.created.toISOString() }, revision };
    }
  }

  async #countParked(group: string): Promise<number> {
    return (await Array.fromAsync(this.#readStream(parkedStream(group)))).length;
  }

  async *#readStream(stream: string): AsyncGenerator<{ event?: RecordedEvent; link?: RecordedEvent }> {
    const client = this.#connection.client('read');
    try {
      const read = client.readStream(stream, { resolveLinkTos: true });
      yield* readWithin(this.#connection.deadlineMs, `a read of ${stream}`, read);
    } catch (error) {
      this.#connection.reportFailure(client, error);
      if (!(error instanceof StreamNotFoundError)) throw error;
    }
  }
}

/** A competing consumer of a group. Rejoins whenever its connection breaks. */
class GroupConsumer {
  readonly #group: string;
  readonly #handler: Handler;
  readonly #connection: Connection;
  readonly #create: () => Promise<void>;
  readonly #types: ReadonlySet<string> | undefined;
  readonly #maxRetries: number;
  readonly #concurrency: number;
  readonly #stop = new AbortController();
  /** Received but not yet being handled. */
  #queue: { readonly membership: Membership; readonly resolved: Resolved }[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #ended: Promise<void>;

  constructor(group: string, options: Consume, handler: Handler, connection: Connection, create: () => Promise<void>) {
    this.#group = group;
    this.#handler = handler;
    this.#connection = connection;
    this.#create = create;
    this.#types = options.types === undefined ? undefined : new Set(options.types);
    this.#maxRetries = options.maxRetries ?? 10;
    this.#concurrency = options.concurrency ?? 8;
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const stop = this.#stop.signal;
    while (!stop.aborted) {
      const membership = await this.#join();
      if (membership === undefined) break;
      const error = await membership.ended;
      // The server redelivers what this connection has not acknowledged.
      this.#queue = [];
      if (stop.aborted) await Promise.all(this.#running);
      else this.#connection.warn(error, `Consumer group ${this.#group}: connection lost; rejoining`);
      await membership.leave();
      await pause(RECONNECT_DELAY_MS, stop);
    }
    await Promise.all(this.#running);
  }

  #join(): Promise<Membership | undefined> {
    const stop = this.#stop.signal;
    const join = async (): Promise<Membership> => {
      try {
        return await Membership.join({
          connection: this.#connection,
          group: this.#group,
          // Twice the concurrency: handlers never wait for the server, and no event is queued for longer than one handler
          // takes, so that the server's message timeout does not expire for events that are merely queued.
          bufferSize: this.#concurrency * 2,
          stop,
          receive: this.#receive,
        });
      } catch (error) {
        if (error instanceof PersistentSubscriptionDoesNotExistError) await this.#create();
        throw error;
      }
    };
    return this.#connection.retryForever(`Joining consumer group ${this.#group}`, join, stop);
  }

  readonly #receive = (membership: Membership, resolved: Resolved): void => {
    const type = resolved.event?.type ?? '';
    if (type !== REPLAY_TYPE && this.#types?.has(type) === false) {
      membership.acknowledge(resolved);
      return;
    }
    this.#queue.push({ membership, resolved });
    this.#startHandlers();
  };

  #startHandlers(): void {
    while (!this.#stop.signal.aborted && this.#running.size < this.#concurrency) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      const handled = this.#handle(next.membership, next.resolved).finally(() => {
        this.#running.delete(handled);
        this.#startHandlers();
      });
      this.#running.add(handled);
    }
  }

  async #handle(membership: Membership, resolved: Resolved): Promise<void> {
    try {
      const event = await eventOf(this.#connection, resolved.event);
      if (event !== undefined && this.#types?.has(event.type) !== false) await this.#handler(event);
      membership.acknowledge(resolved);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (resolved.retryCount >= this.#maxRetries) membership.park(reason, resolved);
      else membership.retryAfter(Math.min(100 * 2 ** resolved.retryCount, MAX_BACKOFF_MS), reason, resolved);
    }
  }
}

type Join = {
  readonly connection: Connection;
  readonly group: string;
  /** How many unacknowledged events the server may have sent. */
  readonly bufferSize: number;
  readonly stop: AbortSignal;
  readonly receive: (membership: Membership, resolved: Resolved) => void;
};

/** A consumer's membership of its group over one connection. */
class Membership {
  /** Resolves with the reason when the connection breaks or the consumer is closed. */
  readonly ended: Promise<Error>;
  readonly #connection: Connection;
  readonly #client: EventStoreDBClient;
  readonly #subscription: PersistentSubscriptionToAll;
  readonly #stop: AbortSignal;
  readonly #confirmed = Promise.withResolvers<void>();
  readonly #end: (error: Error) => void;
  readonly #retries = new Set<NodeJS.Timeout>();
  #acknowledged: Resolved[] = [];

  private constructor({ connection, group, bufferSize, stop, receive }: Join) {
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.ended = promise;
    this.#end = (error) => {
      this.#confirmed.reject(error);
      resolve(error);
    };
    this.#connection = connection;
    this.#stop = stop;
    this.#client = connection.open();
    this.#subscription = this.#client.subscribeToPersistentSubscriptionToAll(group, { bufferSize });
    this.#subscription
      .on('confirmation', () => this.#confirmed.resolve())
      .on('data', (resolved) => receive(this, resolved))
      // Never removed: an 'error' event without a listener would crash the process.
      .on('error', this.#end)
      .on('end', () => this.#end(new Error('The server ended the subscription')))
      .on('close', () => this.#end(new Error('The subscription was closed')));
    stop.addEventListener('abort', this.#onStop);
  }

  static async join(join: Join): Promise<Membership> {
    const membership = new Membership(join);
    try {
      const { deadlineMs } = membership.#connection;
      await within(deadlineMs, 'joining a consumer group', membership.#confirmed.promise);
      return membership;
    } catch (error) {
      membership.#close();
      throw error;
    }
  }

  /** Acknowledgements of the same turn of the event loop are sent together. */
  acknowledge(resolved: Resolved): void {
    this.#acknowledged.push(resolved);
    if (this.#acknowledged.length === 1) setImmediate(() => this.#flush());
  }

  park(reason: string, resolved: Resolved): void {
    this.#subscription.nack(PARK, reason, resolved).catch(this.#onSendFailed);
  }

  retryAfter(milliseconds: number, reason: string, resolved: Resolved): void {
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#subscription.nack(RETRY, reason, resolved).catch(this.#onSendFailed);
    }, milliseconds);
    this.#retries.add(timer);
  }

  /** Ends the membership once the server has received the acknowledgements. */
  async leave(): Promise<void> {
    this.#flush();
    if (this.#stop.aborted) {
      // A response on the same connection means that everything sent before it has arrived. Without one, the events that were
      // acknowledged last may be redelivered.
      const read = this.#client.readAll({ maxCount: 1 });
      await Array.fromAsync(readWithin(this.#connection.deadlineMs, 'a final read', read)).catch(() => {});
    }
    this.#close();
  }

  readonly #onStop = (): void => this.#end(new Error('The consumer was closed'));

  /** A lost ack or nack does no harm: the server redelivers the event. */
  readonly #onSendFailed = (error: unknown): void =>
    this.#connection.warn(error, 'An ack or nack could not be sent; the event will be redelivered');

  #flush(): void {
    const acknowledged = this.#acknowledged;
    this.#acknowledged = [];
    if (acknowledged.length > 0) this.#subscription.ack(...acknowledged).catch(this.#onSendFailed);
  }

  #close(): void {
    this.#stop.removeEventListener('abort', this.#onStop);
    for (const timer of this.#retries) clearTimeout(timer);
    this.#subscription.unsubscribe().catch(() => {});
    this.#subscription.destroy();
    this.#connection.release(this.#client);
  }
}

/** The event that was delivered, or the one that a replay refers to; undefined if it is not an event of this service. */
async function eventOf(connection: Connection, recorded: RecordedEvent | undefined): Promise<StoredEvent | undefined> {
  const replay = replayOf(recorded);
  if (recorded === undefined || (replay === undefined && hasPosition(recorded))) return storedEvent(recorded);
  const { stream, revision } = replay ?? { stream: recorded.streamId, revision: recorded.revision };
  const read = connection.client('read').readStream(stream, { fromRevision: BigInt(revision), maxCount: 1 });
  const [found] = await Array.fromAsync(readWithin(connection.deadlineMs, 'a read of a parked event', read));
  return storedEvent(found?.event);
}

function replayOf(recorded: RecordedEvent | undefined): Replay | undefined {
  const data: unknown = recorded?.data;
  if (recorded?.type !== REPLAY_TYPE || typeof data !== 'object' || data === null) return undefined;
  if (!('stream' in data) || !('revision' in data) || !('parked' in data)) return undefined;
  return { stream: String(data.stream), revision: Number(data.revision), parked: Number(data.parked) };
}

/** The metadata that the server stores with a parked event: `{ added, reason }`, the reason prefixed with a line of its own. */
function parkedMetadata(metadata: unknown): { readonly reason: string; readonly added?: string } {
  if (typeof metadata !== 'object' || metadata === null) return { reason: 'unknown' };
  const reason =
    'reason' in metadata ? String(metadata.reason).replace(/^Client explicitly NAK'ed message\.\s*/, '') : '';
  const added = 'added' in metadata ? new Date(String(metadata.added)) : undefined;
  if (added === undefined || Number.isNaN(added.getTime())) return { reason };
  return { reason, added: added.toISOString() };
}

function parkedStream(group: string): string {
  return `$persistentsubscription-$all::${group}-parked`;
}

function replayStream(group: string): string {
  return `parkedReplay-${group}`;
}
