import { BroadcastChannel } from 'node:worker_threads';

/** What the threads of this process tell each other of something that they share. */
export type News<T> = {
  /** Tells all other threads, and whoever else in this one has opened the same news. */
  tell(item: T): void;
  close(): void;
};

/**
 * Opens the news of a name: what is told reaches everybody else in the process who has opened them, in order. Keeps no thread
 * alive.
 */
export function openNews<T>(name: string, hear: (item: T) => void): News<T> {
  const channel = new BroadcastChannel(name);
  channel.onmessage = (event: { readonly data: T }) => hear(event.data);
  channel.unref();
  return { tell: (item) => channel.postMessage(item), close: () => channel.close() };
}
