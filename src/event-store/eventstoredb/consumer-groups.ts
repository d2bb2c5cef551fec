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
import pRetry from 'p-retry';
import type { Consume, Consumer, ParkedEvent, StoredEvent } from '../event-store.ts';
import { type Connection, pause, RESUME_MS, readWithin, within } from './connection.ts';
import { hasPosition, storedEvent } from './stored-event.ts';

/** The nth retry comes after 100 ms × 2^(n-1), at most this: the server waits for it within its message timeout. */
const LONGEST_BACKOFF_MS = 5_000;
/** Retries that the server counts beyond ours: those are of consumers that were lost, not of handlers that threw. */
const LOST_CONSUMERS = 10;
/**
 * The server puts back all parked events or none. To put back one, an event of this type refers to it: a group gets it
 * like any other event, and its consumers handle what it refers to. System events stay inside of this file.
 */
const REPLAY_TYPE = '$venue-parked-replay';

type Handler = (event: StoredEvent) => Promise<void>;
type Resolved = PersistentSubscriptionToAllResolvedEvent;
/** What a replay refers to: an event, and the revision of its entry in the stream of parked events. */
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
    await this.#create(group, options);
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
    for await (const { parked } of this.#entries(group)) yield parked;
  }

  async replayParked(group: string, id?: string): Promise<number> {
    const entries = await Array.fromAsync(this.#entries(group));
    if (entries.length === 0) return 0;
    const chosen = entries.filter(({ parked }) => id === undefined || parked.id === id);
    const count = await this.#countParked(group);
    if (chosen.length === count) {
      // Everything that is parked: the server does that itself, and tidies up.
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
      // The default is the end: events from before the group would never come.
      startFrom: START,
      messageTimeout: this.#messageTimeoutMs,
      maxRetryCount: (options.maxRetries ?? 10) + LOST_CONSUMERS,
      checkPointAfter: 1_000,
    });
    // A group's filter cannot be changed later, so the types that a consumer wants are its own business.
    const filter = eventTypeFilter({ regex: `^([^$]|${REPLAY_TYPE.replace('$', '\\$')}$)` });
    const create = (): Promise<void> =>
      this.#connection.call('the creation of a group', (client) =>
        client.createPersistentSubscriptionToAll(group, settings, { filter, deadline: this.#connection.deadlineMs }),
      );
    await pRetry(create, {
      retries: 3,
      minTimeout: 50,
      shouldRetry: ({ error }) => !(error instanceof PersistentSubscriptionExistsError),
    }).catch((error: unknown) => {
      if (!(error instanceof PersistentSubscriptionExistsError)) throw error;
    });
  }

  /** What is parked and has not been put back one by one, with its place in the stream of parked events. */
  async *#entries(group: string): AsyncGenerator<{ readonly parked: ParkedEvent; readonly revision: number }> {
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
      this.#connection.failed(client, error);
      if (!(error instanceof StreamNotFoundError)) throw error;
    }
  }
}

/** One of the competing consumers of a group; joins it again whenever its connection breaks. */
class GroupConsumer {
  readonly #group: string;
  readonly #handler: Handler;
  readonly #connection: Connection;
  readonly #create: () => Promise<void>;
  readonly #types: ReadonlySet<string> | undefined;
  readonly #maxRetries: number;
  readonly #concurrency: number;
  readonly #stop = new AbortController();
  /** What the server has sent, through whichever connection, and no handler has begun. */
  #waiting: { readonly membership: Membership; readonly resolved: Resolved }[] = [];
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
      // The server hands to others what this connection has not acknowledged.
      this.#waiting = [];
      if (stop.aborted) await Promise.all(this.#running);
      else this.#connection.warn(error, `Consumer group ${this.#group}: the connection broke off; joining again`);
      await membership.leave();
      await pause(RESUME_MS, stop);
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
          // Twice as much as is handled: handlers never wait for the server, and no event waits longer than one
          // handler takes, so that the server's message timeout does not run out on what merely stands in the queue.
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
    this.#waiting.push({ membership, resolved });
    this.#startHandlers();
  };

  #startHandlers(): void {
    while (!this.#stop.signal.aborted && this.#running.size < this.#concurrency) {
      const next = this.#waiting.shift();
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
      else membership.retryAfter(Math.min(100 * 2 ** resolved.retryCount, LONGEST_BACKOFF_MS), reason, resolved);
    }
  }
}

type Join = {
  readonly connection: Connection;
  readonly group: string;
  /** How many events the server sends ahead of their acknowledgement. */
  readonly bufferSize: number;
  readonly stop: AbortSignal;
  readonly receive: (membership: Membership, resolved: Resolved) => void;
};

/** A consumer's place in its group, as long as its connection holds. */
class Membership {
  /** Resolves, with what went wrong, when the connection has broken or the consumer is to stop. */
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
      // Stays for good: an error that nobody hears would end the process.
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

  /** Acknowledgements of one moment travel together. */
  acknowledge(resolved: Resolved): void {
    this.#acknowledged.push(resolved);
    if (this.#acknowledged.length === 1) setImmediate(() => this.#flush());
  }

  park(reason: string, resolved: Resolved): void {
    this.#subscription.nack(PARK, reason, resolved).catch(this.#onLost);
  }

  retryAfter(milliseconds: number, reason: string, resolved: Resolved): void {
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      this.#subscription.nack(RETRY, reason, resolved).catch(this.#onLost);
    }, milliseconds);
    this.#retries.add(timer);
  }

  /** Ends the membership once the server has what was acknowledged. */
  async leave(): Promise<void> {
    this.#flush();
    if (this.#stop.aborted) {
      // An answer on the same connection means that what was sent before it has arrived. Without one, the events that
      // were acknowledged last come again.
      const read = this.#client.readAll({ maxCount: 1 });
      await Array.fromAsync(readWithin(this.#connection.deadlineMs, 'the end of a membership', read)).catch(() => {});
    }
    this.#close();
  }

  readonly #onStop = (): void => this.#end(new Error('The consumer was closed'));

  /** An answer that does not arrive is no loss: the server hands the event out again. */
  readonly #onLost = (error: unknown): void => this.#connection.warn(error, 'An acknowledgement could not be sent');

  #flush(): void {
    const acknowledged = this.#acknowledged;
    this.#acknowledged = [];
    if (acknowledged.length > 0) this.#subscription.ack(...acknowledged).catch(this.#onLost);
  }

  #close(): void {
    this.#stop.removeEventListener('abort', this.#onStop);
    for (const timer of this.#retries) clearTimeout(timer);
    this.#subscription.unsubscribe().catch(() => {});
    this.#subscription.destroy();
    this.#connection.release(this.#client);
  }
}

/** The event that was handed out, or that it refers to; undefined when it is none of this service. */
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

/** What the server notes about a parked event: `{ added, reason }`, the reason behind a line of its own. */
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
