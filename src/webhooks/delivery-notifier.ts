import type { AccountKey } from '../domain/account.ts';
import type { Link } from '../runtime/link.ts';

/** Minimum interval between two change notifications for an account, in milliseconds. Open pages use them. */
const NOTIFY_EVERY_MS = 50;

/** Messages between threads about deliveries. */
type Message = { readonly changed: readonly AccountKey[] } | { readonly wake: string; readonly isAsked: boolean };

/**
 * Passes delivery changes from the delivering thread to the threads that answer requests, and wake-ups back.
 * @param link to the other thread, if there is one
 * @param woken called when another thread wakes the worker of a registration
 */
export function openDeliveryNotifier(link: Link | undefined, woken: (webhookId: string, isAsked: boolean) => void) {
  const listeners = new Set<(account: AccountKey) => void>();
  const topic = link?.open<Message>('deliveries', (message) => {
    if ('wake' in message) woken(message.wake, message.isAsked);
    else notify(message.changed);
  });
  let waiting = new Set<AccountKey>();
  let timer: NodeJS.Timeout | undefined;

  function notify(accounts: Iterable<AccountKey>): void {
    for (const account of accounts) for (const listener of listeners) listener(account);
  }

  return {
    changed(account: AccountKey): void {
      waiting.add(account);
      timer ??= setTimeout(() => {
        timer = undefined;
        const accounts = [...waiting];
        waiting = new Set();
        notify(accounts);
        topic?.send({ changed: accounts });
      }, NOTIFY_EVERY_MS);
      timer.unref();
    },
    wake(webhookId: string, isAsked: boolean): void {
      topic?.send({ wake: webhookId, isAsked });
    },
    onChange(listener: (account: AccountKey) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close(): void {
      clearTimeout(timer);
      topic?.close();
    },
  };
}
