import type { Connection } from './connection.ts';
import type { NodeClient } from './node-client.ts';
import type { Task } from './rights.ts';

type ServerSubscription = {
  on(event: 'confirmation' | 'end' | 'close', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  unsubscribe(): Promise<void>;
  destroy(): unknown;
};

/**
 * Waits until the server has confirmed a subscription, and watches it from then on. Rejects if the server does not confirm it within the
 * deadline, or if `stop` is aborted.
 * @param deps.onEnd called with the reason when the subscription ends or `stop` is aborted; only the first call counts
 * @param deps.release disposes of the client, if it is not shared
 * @returns ends the subscription
 */
export async function confirmed(deps: {
  readonly connection: Connection;
  readonly client: NodeClient;
  readonly subscription: ServerSubscription;
  readonly task: Task;
  readonly stop: AbortSignal;
  readonly onEnd: (reason: Error) => void;
  readonly release?: (() => void) | undefined;
}): Promise<() => void> {
  const { connection, client, subscription, task, stop, onEnd, release } = deps;
  const confirmation = Promise.withResolvers<void>();
  const end = (reason: Error): void => {
    confirmation.reject(reason);
    onEnd(reason);
  };
  const onStop = (): void => end(new Error('The subscriber stopped'));
  const withdraw = client.onGivenUp(end);
  subscription.on('confirmation', confirmation.resolve);
  // Never removed: an 'error' event without a listener would crash the process.
  subscription.on('error', end);
  subscription.on('end', () => end(new Error('The server ended the subscription')));
  subscription.on('close', () => end(new Error('The subscription was closed')));
  stop.addEventListener('abort', onStop);
  if (stop.aborted) onStop();

  const close = (): void => {
    withdraw();
    stop.removeEventListener('abort', onStop);
    subscription.unsubscribe().catch(() => {});
    subscription.destroy();
    release?.();
  };
  try {
    await connection.answer(client, connection.deadlineMs, task, confirmation.promise);
    return close;
  } catch (error) {
    if (!stop.aborted) connection.failed(client, error);
    close();
    throw error;
  }
}
