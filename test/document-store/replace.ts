import type { Documents } from '../../src/document-store/document-store.ts';

/** Replaces a document if it has the given version. @returns whether it did */
export async function replace<D extends object>(
  documents: Pick<Documents<D>, 'update'>,
  key: string,
  document: D,
  version: number,
): Promise<boolean> {
  return (await documents.update(key, (_, found) => (found === version ? document : undefined))).isChanged;
}
