import {
  PersistentSubscriptionDoesNotExistError,
  type RecordedEvent,
  type PersistentSubscriptionToAllResolvedEvent as Resolved,
} from '@eventstore/db-client';
import type { Consume, Consumer, HandleEvent, StoredEvent } from '../event-store.ts';
import { createHandling } from '../handling.ts';
import { type Connection, pause, RECONNECT_DELAY_MS } from './connection.ts';
import { joining, readOf } from './rights.ts';
import { confirmed } from './server-subscription.ts';
import { hasPosition, storedEvent } from './stored-event.ts';

type ConsumerDeps = {
  readonly connection: Connection;
  /** Its name on the server. */
  readonly group: string;
  readonly options: Consume;
  readonly handler: HandleEvent;
  /** Creates the group unless it exists. */
  readonly begin: () => Promise<void>;
};

/** Starts a consumer of a group. It rejoins whenever its connection breaks. */
export function startConsumer({ connection, group, options, handler, begin }: ConsumerDeps): Consumer {
  const { concurrency = 8 } = options;
  const stopping = new AbortController();
  const stop = stopping.signal;
  const handling = createHandling(stop, (error) =>
    connection.warnOfHandlerError(error, `Consumer group ${group}: the handler failed; trying again`),
  );
  const running = new Set<Promise<void>>();
  /** Received, not yet started. */
  let queue: { readonly membership: Membership; readonly resolved: Resolved }[] = [];

  async function run(): Promise<void> {
    while (!stop.aborted) {
      const membership = await connection.retryForever(`Joining consumer group ${group}`, join, stop);
      if (membership === undefined) break;
      const { why, error } = await membership.ended;
      // The server redelivers events that this connection has not acknowledged.
      queue = [];
      if (why === 'closed') await Promise.all(running);
      await membership.leave();
      if (why === 'broken') {
        connection.warn(error, `Consumer group ${group}: connection lost; rejoining`);
        await pause(RECONNECT_DELAY_MS, stop);
      }
    }
    await Promise.all(running);
  }

  async function join(): Promise<Membership> {
    const receive = (membership: Membership, resolved: Resolved): void => {
      if (!membership.begin(resolved)) return;
      queue.push({ membership, resolved });
      startHandlers();
    };
    try {
      // Twice the concurrency: handlers never wait for the server, and an event waits for at most one handler, so the server's
      // message timeout does not expire in the queue.
      return await joinGroup({ connection, group, bufferSize: concurrency * 2, stop, receive });
    } catch (error) {
      if (error instanceof PersistentSubscriptionDoesNotExistError) await begin();
      throw error;
    }
  }

  function startHandlers(): void {
    while (!stop.aborted && running.size < concurrency) {
      const next = queue.shift();
      if (next === undefined) return;
      if (next.membership.hasEnded()) continue;
      const handled = handle(next.membership, next.resolved).finally(() => {
        running.delete(handled);
        startHandlers();
      });
      running.add(handled);
    }
  }

  async function handle(membership: Membership, resolved: Resolved): Promise<void> {
    const handleOnce = async () => {
      const event = await eventOf(connection, resolved.event);
      if (event !== undefined) await handler(event);
    };
    if (await handling(handleOnce, membership.hasEnded)) membership.acknowledge(resolved);
  }

  const ended = run();
  return {
    async close() {
      stopping.abort();
      await ended;
    },
  };
}

/** The connection broke, or the consumer was closed. */
type End = { readonly why: 'broken' | 'closed'; readonly error: unknown };

/** A consumer's membership in its group over one connection. */
type Membership = {
  readonly ended: Promise<End>;
  hasEnded(): boolean;
  /** @returns false if the event is in progress: the server sends it again after its message timeout, also to this connection */
  begin(resolved: Resolved): boolean;
  /** Sends the acknowledgements of one turn of the event loop together. */
  acknowledge(resolved: Resolved): void;
  /** Ends the membership once the server has received the acknowledgements. */
  leave(): Promise<void>;
};

/** The id by which an event is acknowledged. */
const idOf = ({ link, event }: Resolved): string | undefined => (link ?? event)?.id;

/** Joins a group once there is a leader. @param deps.bufferSize the limit of unacknowledged events */
async function joinGroup(deps: {
  readonly connection: Connection;
  readonly group: string;
  readonly bufferSize: number;
  readonly stop: AbortSignal;
  readonly receive: (membership: Membership, resolved: Resolved) => void;
}): Promise<Membership> {
  const { connection, group, bufferSize, stop, receive } = deps;
  const client = await connection.open(stop);
  const subscription = client.subscribeToPersistentSubscriptionToAll(group, { bufferSize });
  const ended = Promise.withResolvers<End>();
  let ending: End | undefined;
  let acknowledged: Resolved[] = [];
  /** The ids of events that are not acknowledged. */
  const inProgress = new Set<string | undefined>();

  function flush(): void {
    const resolved = acknowledged;
    acknowledged = [];
    if (resolved.length === 0) return;
    subscription.ack(...resolved).catch((error: unknown) => {
      // A lost acknowledgement does no harm: the server redelivers the event.
      connection.warn(error, 'An acknowledgement could not be sent; the event will be redelivered');
    });
  }

  const membership: Membership = {
    ended: ended.promise,
    hasEnded: () => ending !== undefined,
    begin(resolved) {
      const isNew = !inProgress.has(idOf(resolved));
      inProgress.add(idOf(resolved));
      return isNew;
    },
    acknowledge(resolved) {
      inProgress.delete(idOf(resolved));
      acknowledged.push(resolved);
      if (acknowledged.length === 1) setImmediate(flush);
    },
    async leave() {
      flush();
      if (ending?.why === 'broken') connection.failed(client, ending.error);
      // A response on the same connection proves that earlier acknowledgements have arrived. Without it, the last events may be
      // redelivered.
      else {
        const read = Array.fromAsync(client.readAll({ maxCount: 1 }));
        await connection.answer(client, connection.deadlineMs, readOf('$all'), read).catch(() => {});
      }
      close();
    },
  };
  subscription.on('data', (resolved) => receive(membership, resolved));
  const onEnd = (error: Error): void => {
    ending ??= { why: stop.aborted ? 'closed' : 'broken', error };
    ended.resolve(ending);
  };
  const release = (): void => connection.release(client);
  const close = await confirmed({ connection, client, subscription, task: joining(group), stop, onEnd, release });
  return membership;
}

/** The delivered event; undefined if it is not one of this service. The server omits the position of a replayed parked message. */
async function eventOf(connection: Connection, recorded: RecordedEvent | undefined): Promise<StoredEvent | undefined> {
  if (recorded === undefined || hasPosition(recorded)) return storedEvent(recorded, connection.names);
  const { streamId: stream, revision } = recorded;
  const [resolved] = await connection.retryWhileStarting(`Reading the event of a parked entry in ${stream}`, () =>
    Array.fromAsync(
      connection.read(readOf(stream), connection.givesUpAt(), (client) =>
        client.readStream(stream, { fromRevision: revision, maxCount: 1, requiresLeader: true }),
      ),
    ),
  );
  return storedEvent(resolved?.event, connection.names);
}
