import type { Link } from '../../runtime/link.ts';

export type ChangedDocuments = { readonly collection: string; readonly keys: readonly string[] };

/** A transaction that has changed documents which others may have in a cache. */
type FileChange = {
  readonly path: string;
  /** The write count of this process in the file, with this transaction. */
  readonly count: number;
  readonly changed: readonly ChangedDocuments[];
};

/** What the threads of a process tell each other of the documents that they change. */
export type Changes = {
  tell(change: FileChange): void;
  /** @returns how to stop listening */
  listen(path: string, hear: (change: FileChange) => void): () => void;
};

export function createChanges(link: Link | undefined): Changes & { close(): void } {
  const listeners = new Map<string, (change: FileChange) => void>();
  const topic = link?.open<FileChange>('documents', (change) => listeners.get(change.path)?.(change));
  return {
    tell: (change) => topic?.tell(change),
    listen(path, hear) {
      listeners.set(path, hear);
      return () => {
        if (listeners.get(path) === hear) listeners.delete(path);
      };
    },
    close: () => topic?.close(),
  };
}
