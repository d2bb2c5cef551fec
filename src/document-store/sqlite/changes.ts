import type { Link } from '../../runtime/link.ts';

export type ChangedDocuments = { readonly collection: string; readonly keys: readonly string[] };

/** A transaction that changed documents which other threads may have cached. */
type FileChange = {
  readonly path: string;
  /** The write count of this process in the file, including this transaction. */
  readonly count: number;
  readonly changed: readonly ChangedDocuments[];
};

/** Messages between the threads of a process about changed documents. */
export type Changes = {
  send(change: FileChange): void;
  /** @returns a function that stops listening */
  listen(path: string, listener: (change: FileChange) => void): () => void;
};

export function createChanges(link: Link | undefined): Changes & { close(): void } {
  const listeners = new Map<string, (change: FileChange) => void>();
  const topic = link?.open<FileChange>('documents', (change) => listeners.get(change.path)?.(change));
  return {
    send: (change) => topic?.send(change),
    listen(path, listener) {
      listeners.set(path, listener);
      return () => {
        if (listeners.get(path) === listener) listeners.delete(path);
      };
    },
    close: () => topic?.close(),
  };
}
