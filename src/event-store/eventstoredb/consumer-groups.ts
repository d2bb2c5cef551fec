import { setTimeout as sleep } from 'node:timers/promises';
import {
  eventTypeFilter,
  PersistentSubscriptionDoesNotExistError,
  PersistentSubscriptionExistsError,
  type PersistentSubscriptionToAll,
  type PersistentSubscriptionToAllResolvedEvent,
  persistentSubscriptionToAllSettingsFromDefaults,
  type RecordedEvent,
  START,
} from '@eventstore/db-client';
import {
  type Consume,
  type Consumer,
  type CreateGroup,
  type HandleEvent,
  LOG_START,
  type Position,
  type StoredEvent,
} from '../event-store.ts';
import { RejoinBackoff } from '../rejoin-backoff.ts';
import { type Connection, pause, RECONNECT_DELAY_MS } from './connection.ts';
import type { NodeClient } from './node-client.ts';
import { joining, managing, readOf } from './rights.ts';
import { hasPosition, positionOf, serverPosition, storedEvent } from './stored-event.ts';

/**
 * The server parks an event after this many retries. High enough never to happen, because the count also grows when a consumer
 * leaves the group, which is not the event's fault.
 */
const MAX_RETRIES = 1_000_000_000;
/** Attempts to recreate a group at a position, and the growing pause between them. */
const MOVE_ATTEMPTS = 4;
const MOVE_PAUSE_MS = 100;
/** How long the other handlers of a leaving consumer may take. */
const LEAVE_WITHIN_MS = 5_000;
type Resolved = PersistentSubscriptionToAllResolvedEvent;
type GroupInfo = Awaited<ReturnType<NodeClient['getPersistentSubscriptionToAllInfo']>>;

/** Persistent subscriptions to `$all`, filtered by the server. Group names are those on the server. */
export class ConsumerGroups {
  readonly #connection: Connection;
  readonly #messageTimeoutMs: number;
  readonly #consumers = new Set<GroupConsumer>();

  constructor(connection: Connection, messageTimeoutMs: number) {
    this.#connection = connection;
    this.#messageTimeoutMs = messageTimeoutMs;
  }

  /**
   * Creates the group unless it exists.
   * @returns the position after which the group begins
   */
  async create(group: string, { types, after }: CreateGroup): Promise<Position> {
    const from = serverPosition(after);
    const settings = persistentSubscriptionToAllSettingsFromDefaults({
      // The default is the end of the log: events older than the group would never be delivered.
      startFrom: from === 'start' ? START : from,
      messageTimeout: this.#messageTimeoutMs,
      maxRetryCount: MAX_RETRIES,
      // Checkpoint every second with acknowledgements, so that few events are redelivered.
      checkPointAfter: 1_000,
      checkPointLowerBound: 1,
    });
    // The filter cannot be changed later. Consumers never get the events that it drops.
    const filter = eventTypeFilter({ regex: this.#connection.names.filter(types) });
    const create = (): Promise<void> =>
      this.#connection.call(managing('the creation', group), (client) =>
        client.createPersistentSubscriptionToAll(group, settings, { filter, deadline: this.#connection.deadlineMs }),
      );
    try {
      await this.#connection.retryWhileStarting(`Creating consumer group ${group}`, create);
      return after;
    } catch (error) {
      if (!(error instanceof PersistentSubscriptionExistsError)) throw error;
      return startOf(await this.#info(group));
    }
  }

  /**
   * Recreates the group at the position, because the server cannot move one. Does nothing if it is already there. Parked messages
   * are lost.
   */
  async move(group: string, options: CreateGroup): Promise<void> {
    for (let attempt = 1; attempt <= MOVE_ATTEMPTS; attempt += 1) {
      const position = await this.position(group);
      if (position === options.after) return;
      if (position !== undefined) {
        await this.#delete(group);
        // The server may still be removing the old group's checkpoint, which the new group must not find.
        await sleep(MOVE_PAUSE_MS * attempt);
      }
      await this.create(group, options);
    }
    const position = await this.position(group);
    if (position !== options.after)
      throw new Error(`Consumer group ${group} stands at ${position} and cannot be moved to ${options.after}`);
  }

  async #delete(group: string): Promise<void> {
    try {
      await this.#connection.call(managing('the removal', group), (client) =>
        client.deletePersistentSubscriptionToAll(group, { deadline: this.#connection.deadlineMs }),
      );
    } catch (error) {
      if (!(error instanceof PersistentSubscriptionDoesNotExistError)) throw error;
    }
  }

  async position(group: string): Promise<Position | undefined> {
    const info = await this.#info(group);
    if (info === undefined) return undefined;
    const reached = info.stats.lastCheckpointedEventPosition;
    return reached === undefined ? startOf(info) : positionOf(reached);
  }

  async consume(group: string, options: Consume, handler: HandleEvent): Promise<Consumer> {
    const create = () => this.create(group, { types: options.types, after: LOG_START });
    const beginsAfter = await create();
    const consumer = new GroupConsumer(group, options, handler, this.#connection, beginsAfter, create);
    this.#consumers.add(consumer);
    return {
      close: async () => {
        await consumer.close();
        this.#consumers.delete(consumer);
      },
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer.close()));
  }

  /** Undefined if the group does not exist. */
  async #info(group: string): Promise<GroupInfo | undefined> {
    const look = () =>
      this.#connection.call(managing('a look at the state', group), (client) =>
        client.getPersistentSubscriptionToAllInfo(group, { deadline: this.#connection.deadlineMs }),
      );
    try {
      return await this.#connection.retryWhileStarting(`Looking at consumer group ${group}`, look);
    } catch (error) {
      if (error instanceof PersistentSubscriptionDoesNotExistError) return undefined;
      throw error;
    }
  }
}

/** The start position of an unused group. */
function startOf(info: GroupInfo | undefined): Position {
  const startFrom = info?.settings.startFrom;
  return startFrom === undefined || typeof startFrom === 'string' ? LOG_START : positionOf(startFrom);
}

/** A competing consumer of a group. Rejoins whenever its connection breaks. */
class GroupConsumer {
  readonly #group: string;
  readonly #handler: HandleEvent;
  readonly #connection: Connection;
  readonly #create: () => Promise<Position>;
  readonly #concurrency: number;
  readonly #stop = new AbortController();
  readonly #backoff: RejoinBackoff;
  /** Received, not yet started. */
  #queue: { readonly membership: Membership; readonly resolved: Resolved }[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #ended: Promise<void>;
  #beginsAfter: Position;

  constructor(
    group: string,
    options: Consume,
    handler: HandleEvent,
    connection: Connection,
    beginsAfter: Position,
    create: () => Promise<Position>,
  ) {
    this.#group = group;
    this.#handler = handler;
    this.#connection = connection;
    this.#beginsAfter = beginsAfter;
    this.#create = create;
    this.#concurrency = options.concurrency ?? 8;
    this.#backoff = new RejoinBackoff(options.ready, this.#stop.signal);
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
      const { why, error } = await membership.ended;
      // The server redelivers events that this connection has not acknowledged.
      this.#queue = [];
      if (why === 'closed') await Promise.all(this.#running);
      else if (why === 'handler') await Promise.race([Promise.all(this.#running), pause(LEAVE_WITHIN_MS, stop)]);
      await membership.leave();
      if (why === 'handler') {
        this.#connection.warnOfHandlerError(
          error,
          `Consumer group ${this.#group}: the handler failed; leaving the group for now`,
        );
        await this.#backoff.wait();
      } else if (why === 'broken') {
        this.#connection.warn(error, `Consumer group ${this.#group}: connection lost; rejoining`);
        await pause(RECONNECT_DELAY_MS, stop);
      }
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
          // Twice the concurrency: handlers never wait for the server, and an event waits for at most one handler, so the server's
          // message timeout does not expire in the queue.
          bufferSize: this.#concurrency * 2,
          stop,
          receive: this.#receive,
        });
      } catch (error) {
        if (error instanceof PersistentSubscriptionDoesNotExistError) this.#beginsAfter = await this.#create();
        throw error;
      }
    };
    return this.#connection.retryForever(`Joining consumer group ${this.#group}`, join, stop);
  }

  readonly #receive = (membership: Membership, resolved: Resolved): void => {
    this.#queue.push({ membership, resolved });
    this.#startHandlers();
  };

  #startHandlers(): void {
    while (!this.#stop.signal.aborted && this.#running.size < this.#concurrency) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      if (next.membership.hasEnded()) continue;
      const handled = this.#handle(next.membership, next.resolved).finally(() => {
        this.#running.delete(handled);
        this.#startHandlers();
      });
      this.#running.add(handled);
    }
  }

  async #handle(membership: Membership, resolved: Resolved): Promise<void> {
    try {
      const event = this.#isBefore(resolved) ? undefined : await eventOf(this.#connection, resolved.event);
      if (event !== undefined) await this.#handler(event);
      membership.acknowledge(resolved);
      this.#backoff.reset();
    } catch (error) {
      membership.end({ why: 'handler', error });
    }
  }

  /** Whether this is the event at the group's start position, which the server delivers as well. */
  #isBefore({ event }: Resolved): boolean {
    return hasPosition(event) && event?.position !== undefined && positionOf(event.position) === this.#beginsAfter;
  }
}

type Join = {
  readonly connection: Connection;
  readonly client: NodeClient;
  readonly group: string;
  /** The limit of unacknowledged events. */
  readonly bufferSize: number;
  readonly stop: AbortSignal;
  readonly receive: (membership: Membership, resolved: Resolved) => void;
};

/** The connection broke, the consumer was closed, or a handler threw. */
type End = { readonly why: 'broken' | 'closed' | 'handler'; readonly error: unknown };

/** A consumer's membership in its group over one connection. */
class Membership {
  readonly ended: Promise<End>;
  readonly #connection: Connection;
  readonly #client: NodeClient;
  readonly #subscription: PersistentSubscriptionToAll;
  readonly #stop: AbortSignal;
  readonly #confirmed = Promise.withResolvers<void>();
  readonly #withdraw: () => void;
  readonly #resolveEnded: (end: End) => void;
  #end: End | undefined;
  #acknowledged: Resolved[] = [];

  private constructor({ connection, client, group, bufferSize, stop, receive }: Join) {
    const { promise, resolve } = Promise.withResolvers<End>();
    this.ended = promise;
    this.#resolveEnded = resolve;
    this.#connection = connection;
    this.#stop = stop;
    this.#client = client;
    this.#withdraw = client.onGivenUp((error) => this.end({ why: 'broken', error }));
    this.#subscription = this.#client.subscribeToPersistentSubscriptionToAll(group, { bufferSize });
    this.#subscription
      .on('confirmation', () => this.#confirmed.resolve())
      .on('data', (resolved) => receive(this, resolved))
      // Never removed: an 'error' event without a listener would crash the process.
      .on('error', (error) => this.end({ why: 'broken', error }))
      .on('end', () => this.end({ why: 'broken', error: new Error('The server ended the subscription') }))
      .on('close', () => this.end({ why: 'broken', error: new Error('The subscription was closed') }));
    stop.addEventListener('abort', this.#onStop);
    if (stop.aborted) this.#onStop();
  }

  /** Joins once there is a leader. */
  static async join(join: Omit<Join, 'client'>): Promise<Membership> {
    const { connection, stop } = join;
    const client = await connection.open(stop);
    const membership = new Membership({ ...join, client });
    try {
      const { promise } = membership.#confirmed;
      await connection.answer(client, connection.deadlineMs, joining(join.group), promise);
      return membership;
    } catch (error) {
      if (!stop.aborted) connection.failed(client, error);
      membership.#close();
      throw error;
    }
  }

  /** Sends the acknowledgements of one turn of the event loop together. */
  acknowledge(resolved: Resolved): void {
    this.#acknowledged.push(resolved);
    if (this.#acknowledged.length === 1) setImmediate(() => this.#flush());
  }

  /** Only the first end counts. */
  end(end: End): void {
    this.#end ??= end;
    this.#confirmed.reject(end.error);
    this.#resolveEnded(end);
  }

  hasEnded(): boolean {
    return this.#end !== undefined;
  }

  /** Ends the membership once the server has received the acknowledgements. */
  async leave(): Promise<void> {
    this.#flush();
    if (this.#end?.why !== 'broken') {
      // A response on the same connection proves that earlier acknowledgements have arrived. Without it, the last events may be
      // redelivered.
      const read = this.#client.readAll({ maxCount: 1 });
      await Array.fromAsync(this.#connection.readFrom(this.#client, readOf('$all'), read)).catch(() => {});
    } else this.#connection.failed(this.#client, this.#end.error);
    this.#close();
  }

  readonly #onStop = (): void => this.end({ why: 'closed', error: new Error('The consumer was closed') });

  /** A lost acknowledgement does no harm: the server redelivers the event. */
  readonly #onSendFailed = (error: unknown): void =>
    this.#connection.warn(error, 'An acknowledgement could not be sent; the event will be redelivered');

  #flush(): void {
    const acknowledged = this.#acknowledged;
    this.#acknowledged = [];
    if (acknowledged.length > 0) this.#subscription.ack(...acknowledged).catch(this.#onSendFailed);
  }

  #close(): void {
    this.#withdraw();
    this.#stop.removeEventListener('abort', this.#onStop);
    this.#subscription.unsubscribe().catch(() => {});
    this.#subscription.destroy();
    this.#connection.release(this.#client);
  }
}

/** The delivered event; undefined if it is not one of this service. The server omits the position of a replayed parked message. */
async function eventOf(connection: Connection, recorded: RecordedEvent | undefined): Promise<StoredEvent | undefined> {
  if (recorded === undefined || hasPosition(recorded)) return storedEvent(recorded, connection.names);
  const { streamId: stream, revision } = recorded;
  const [found] = await connection.retryWhileStarting(`Reading the event of a parked entry in ${stream}`, () =>
    Array.fromAsync(
      connection.read(readOf(stream), connection.givesUpAt(), (client) =>
        client.readStream(stream, { fromRevision: revision, maxCount: 1, requiresLeader: true }),
      ),
    ),
  );
  return storedEvent(found?.event, connection.names);
}
