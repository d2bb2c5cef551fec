import type { StreamingRead } from '@eventstore/db-client';
import { Wakeup } from '../../event-loop/wakeup.ts';
import { NoResponse } from './failures.ts';
import type { NodeClient } from './node-client.ts';

/** After this long without an answer, the connection checks which node leads, while the call waits on. */
export const SILENCE_MS = 1_000;

/**
 * Yields what a read returns.
 * @param limits the time limits of the first and of the other items, in milliseconds
 * @param silent called whenever nothing has arrived for a while
 * @throws {NoResponse} if an item takes longer
 */
export async function* readItems<Item>(
  client: NodeClient,
  read: StreamingRead<Item>,
  what: string,
  [firstMs, nextMs]: readonly [number, number],
  silent: () => void,
): AsyncGenerator<Item> {
  const wakeup = new Wakeup();
  let limit = firstMs;
  let ended = false;
  let failure: Error | undefined;
  const fail = (error: Error): void => {
    failure ??= error;
    wakeup.wake();
  };
  read
    .on('readable', wakeup.wake)
    .on('end', () => {
      ended = true;
      wakeup.wake();
    })
    // Never removed: the client may emit errors late, and an 'error' event without a listener would crash the process.
    .on('error', fail);
  const withdraw = client.onGivenUp(fail);
  try {
    for (;;) {
      const item: Item | null = read.read();
      if (item !== null) {
        limit = nextMs;
        yield item;
      } else if (failure !== undefined) throw failure;
      else if (ended) return;
      else {
        for (let left = limit; !(await wakeup.wait(Math.min(left, SILENCE_MS))); ) {
          left -= SILENCE_MS;
          if (left <= 0) throw new NoResponse(what, limit);
          silent();
        }
      }
    }
  } finally {
    withdraw();
    // Leaving the loop does not end the call on the server, and the client keeps an undrained read in memory.
    if (!ended) read.cancel().catch(() => {});
    read.removeListener('readable', wakeup.wake);
    setImmediate(() => read.resume());
  }
}
