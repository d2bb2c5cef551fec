import type { PlainCollection, Written } from '../document-store/sqlite/documents.ts';
import type { Append, AppendOutcome } from '../event-store/sqlite/log-writer.ts';

/** What other threads ask of the one that writes. */
export type StoreCalls = {
  readonly append: { readonly argument: Append; readonly result: AppendOutcome };
  readonly insert: {
    readonly argument: Addressed & { readonly written: Written };
    readonly result: boolean;
  };
  readonly replace: {
    readonly argument: Addressed & {
      readonly written: Written;
      readonly version: number;
    };
    readonly result: boolean;
  };
  readonly delete: {
    readonly argument: Addressed & { readonly version: number | undefined };
    readonly result: boolean;
  };
  readonly sweep: {
    readonly argument: { readonly collection: NamedCollection; readonly now: string };
    readonly result: undefined;
  };
};

/** A collection, by its name alone once it has been described over the same port: a description takes longer to send than most documents. */
export type NamedCollection = PlainCollection | string;

type Addressed = { readonly collection: NamedCollection; readonly key: string };
