import type { DocumentWrite, PlainCollection } from '../document-store/sqlite/documents.ts';
import type { Append, AppendOutcome } from '../event-store/sqlite/log-writer.ts';
import type { WalStep } from '../sqlite/wal.ts';

/** The start parameters of the writer. */
export type WriterData = {
  /** The embedded log; absent if the log is elsewhere. */
  readonly log: string | undefined;
  /** The folder of the embedded documents; absent if they are elsewhere. */
  readonly documents: string | undefined;
};

/** The calls to the writer. Each collection must first be described over the same port, see {@link Described}. */
export type WriterCalls = {
  readonly append: { readonly argument: Append; readonly result: AppendOutcome };
  readonly write: {
    readonly argument: { readonly collection: string; readonly write: DocumentWrite };
    readonly result: boolean;
  };
  readonly sweep: {
    readonly argument: { readonly collection: string; readonly now: string };
    readonly result: undefined;
  };
  /** Takes a step for the WAL of a file. */
  readonly walStep: {
    readonly argument: { readonly path: string; readonly step: WalStep };
    readonly result: undefined;
  };
};

/** Collections that the sender writes to. Sent once, because a definition is larger than most documents. */
export type Described = { readonly collections: readonly PlainCollection[] };
