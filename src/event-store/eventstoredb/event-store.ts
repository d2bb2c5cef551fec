import { type Batch, LOG_START, type OperatedEventStore, type Subscribe } from '../event-store.ts';
import { watchOutage } from '../outage.ts';
import { createAppends } from './appends.ts';
import { openCatchUp } from './catch-up.ts';
import { Connection, type ConnectionOptions, pause, RECONNECT_DELAY_MS } from './connection.ts';
import { createConsumerGroups } from './consumer-groups.ts';
import { StoreClosed } from './leader.ts';
import type { NodeClient } from './node-client.ts';
import { createReads } from './reads.ts';
import { readOf } from './rights.ts';
import { serverPosition } from './stored-event.ts';

export type EventStoreDbOptions = ConnectionOptions & {
  /** How long a consumer may take to handle an event before the server redelivers it, in milliseconds. Default 60 s. */
  readonly messageTimeoutMs?: number;
};

/**
 * The event log in EventStoreDB / KurrentDB.
 * @throws {Unavailable} if the server cannot be reached within `startWithinMs`
 * @throws {UnusableStore} if the URL or the user is wrong
 */
export async function openEventStoreDb(options: EventStoreDbOptions): Promise<OperatedEventStore> {
  const closing = new AbortController();
  const outage = watchOutage(() => ping(connection), closing.signal, options);
  const connection = new Connection(options, outage, closing.signal);
  const reads = createReads(connection);
  const groups = createConsumerGroups(connection, options.messageTimeoutMs ?? 60_000);
  const store: OperatedEventStore = {
    ...createAppends(connection, reads),
    readStream: reads.stream,
    readAll: reads.all,
    lastEvent: reads.lastEvent,
    subscribe: (from) => subscribe(connection, from),
    consume: groups.consume,
    checkGroupRights: groups.checkRights,
    ping: () => ping(connection),
    outage,
    async close() {
      if (closing.signal.aborted) return;
      closing.abort();
      await groups.close();
      await connection.close();
    },
  };
  try {
    await connection.reach(store.ping);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function ping(connection: Connection): Promise<void> {
  const task = { ...readOf('$all'), what: 'a ping' };
  const read = (client: NodeClient) => client.readAll({ maxCount: 1, requiresLeader: true });
  await Array.fromAsync(connection.read(task, performance.now() + connection.deadlineMs, read));
}

async function* subscribe(
  connection: Connection,
  { after = LOG_START, types, signal }: Subscribe,
): AsyncGenerator<Batch> {
  const { closing } = connection;
  if (closing.aborted) throw new StoreClosed();
  serverPosition(after);
  const stop = signal === undefined ? closing : AbortSignal.any([signal, closing]);
  let position = after;
  const open = async () => {
    const client = await connection.open(stop);
    return openCatchUp(connection, client, { after: position, types, stop }, () => connection.release(client));
  };
  while (!stop.aborted) {
    const catchUp = await connection.retryForever('Opening a catch-up subscription', open, stop);
    if (catchUp === undefined) return;
    try {
      for (let batch = await catchUp.next(); batch !== undefined; batch = await catchUp.next()) {
        position = batch.position;
        yield batch;
      }
    } catch (error) {
      connection.warn(error, 'Catch-up subscription dropped; resuming from its last position');
    } finally {
      catchUp.close();
    }
    await pause(RECONNECT_DELAY_MS, stop);
  }
}
