import type { Stored } from '../document-store/document-store.ts';

/** All documents that a query finds. */
export const documentsOf = <D extends object>(found: AsyncIterable<Stored<D>>): Promise<D[]> =>
  Array.fromAsync(found, ({ document }) => document);

/** Whether a query finds anything. */
export async function isAny(found: AsyncIterable<unknown>): Promise<boolean> {
  for await (const _ of found) return true;
  return false;
}
