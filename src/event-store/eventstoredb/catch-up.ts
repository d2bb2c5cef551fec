import { type AllStreamResolvedEvent, eventTypeFilter } from '@eventstore/db-client';
import { Wakeup } from '../../event-loop/wakeup.ts';
import type { Batch, Position, StoredEvent } from '../event-store.ts';
import type { Connection } from './connection.ts';
import type { NodeClient } from './node-client.ts';
import { SUBSCRIBE } from './rights.ts';
import { confirmed } from './server-subscription.ts';
import { positionOf, serverPosition, storedEvent } from './stored-event.ts';

const MAX_EVENTS_PER_BATCH = 512;
/** The server sends a checkpoint to a filtered subscription after this many events, including filtered-out ones. */
const SEARCH_WINDOW = 256;

/**
 * Opens a catch-up subscription over one connection. It does not reconnect.
 * @param options.after the position after which it begins
 * @param options.types the event types; undefined for all
 * @param release disposes of the client, if it is not shared
 */
export async function openCatchUp(
  connection: Connection,
  client: NodeClient,
  options: { readonly after: Position; readonly types: readonly string[] | undefined; readonly stop: AbortSignal },
  release?: () => void,
) {
  const { after, types, stop } = options;
  const { names, deadlineMs } = connection;
  const wakeup = new Wakeup();
  let [position, checkpoint] = [after, after];
  let [isLive, isLiveReported] = [false, false];
  let failure: Error | undefined;

  const setLive = (live: boolean): void => {
    isLive = live;
    isLiveReported &&= live;
    wakeup.wake();
  };
  const subscription = client
    .subscribeToAll(
      {
        fromPosition: serverPosition(after),
        requiresLeader: true,
        filter: eventTypeFilter({
          regex: names.filter(types),
          checkpointInterval: 1,
          maxSearchWindow: SEARCH_WINDOW,
          // Must not throw, or the client would wait forever.
          checkpointReached(_subscription, reached) {
            checkpoint = positionOf(reached);
            wakeup.wake();
          },
        }),
      },
      { highWaterMark: MAX_EVENTS_PER_BATCH },
    )
    .on('readable', wakeup.wake)
    .on('caughtUp', () => setLive(true))
    .on('fellBehind', () => setLive(false));
  const onEnd = (reason: Error): void => {
    failure ??= reason;
    wakeup.wake();
  };
  const close = await confirmed({
    connection,
    client,
    subscription,
    task: SUBSCRIBE,
    stop,
    onEnd,
    release,
  });

  function read(): Batch | undefined {
    const before = position;
    const events: StoredEvent[] = [];
    let resolved: AllStreamResolvedEvent | null = null;
    while (events.length < MAX_EVENTS_PER_BATCH) {
      resolved = subscription.read();
      if (resolved === null) break;
      const event = storedEvent(resolved.event, names);
      if (event === undefined || event.position <= position) continue;
      position = event.position;
      events.push(event);
    }
    const drained = resolved === null;
    // A checkpoint may lag behind the events, and is valid only once the buffered events before it have been read.
    if (drained && checkpoint > position) position = checkpoint;
    const caughtUp = drained && isLive;
    if (position === before && (!caughtUp || isLiveReported)) return undefined;
    isLiveReported = caughtUp;
    return { events, position, caughtUp };
  }

  /** The next batch; undefined if `stop` is aborted. Rejects if the subscription ends for any other reason. */
  async function next(): Promise<Batch | undefined> {
    while (!stop.aborted) {
      const batch = read();
      if (batch !== undefined) return batch;
      if (failure !== undefined) {
        connection.failed(client, failure);
        throw failure;
      }
      await wakeup.wait();
    }
    return undefined;
  }

  return {
    next,
    /** Like `next`, during catch-up: the server then sends events or checkpoints all the time, so silence means a failure. */
    nextWhileBehind: () => connection.answer(client, deadlineMs, SUBSCRIBE, next()),
    close,
  };
}
