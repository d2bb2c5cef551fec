import type { PlainCollection } from '../document-store/sqlite/documents.ts';
import type { Append, AppendOutcome } from '../event-store/sqlite/log-writer.ts';

/** What other threads ask of the one that writes. */
export type StoreCalls = {
  readonly append: { readonly argument: Append; readonly result: AppendOutcome };
  readonly insert: { readonly argument: Written & { readonly json: string }; readonly result: boolean };
  readonly replace: {
    readonly argument: Written & { readonly json: string; readonly version: number };
    readonly result: boolean;
  };
  readonly delete: {
    readonly argument: Written & { readonly version: number | undefined };
    readonly result: boolean;
  };
  readonly sweep: {
    readonly argument: { readonly collection: PlainCollection; readonly now: string };
    readonly result: undefined;
  };
};

type Written = { readonly collection: PlainCollection; readonly key: string };
