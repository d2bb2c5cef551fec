import type { AccountKey } from '../domain/account.ts';

/** Minimum interval between two change notifications for an account, in milliseconds. Open pages use them. */
const NOTIFY_EVERY_MS = 50;

/** Tells open pages which accounts have changed deliveries. */
export function createDeliveryNotifier() {
  const listeners = new Set<(account: AccountKey) => void>();
  let waiting = new Set<AccountKey>();
  let timer: NodeJS.Timeout | undefined;

  return {
    changed(account: AccountKey): void {
      waiting.add(account);
      timer ??= setTimeout(() => {
        timer = undefined;
        const accounts = waiting;
        waiting = new Set();
        for (const each of accounts) for (const listener of listeners) listener(each);
      }, NOTIFY_EVERY_MS);
      timer.unref();
    },
    /**
     * Calls `listener` with the accounts whose deliveries this process creates or changes, each at most every 50 ms.
     * @returns a function that stops it
     */
    onChange(listener: (account: AccountKey) => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => clearTimeout(timer),
  };
}
