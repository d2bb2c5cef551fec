import type { Stored } from '../document-store/document-store.ts';

/** All documents that a query finds. */
export const documentsOf = <D extends object>(stored: AsyncIterable<Stored<D>>): Promise<D[]> =>
  Array.fromAsync(stored, ({ document }) => document);

/** The same, one by one. */
export async function* documentsIn<D extends object>(stored: AsyncIterable<Stored<D>>): AsyncGenerator<D> {
  for await (const { document } of stored) yield document;
}

/** Whether a query finds anything. */
export async function isAny(matching: AsyncIterable<unknown>): Promise<boolean> {
  for await (const _ of matching) return true;
  return false;
}
