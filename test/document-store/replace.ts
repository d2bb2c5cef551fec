import type { Documents } from '../../src/document-store/document-store.ts';

/** Replaces a document if it is at a version. @returns whether it was */
export async function replace<D extends object>(
  documents: Pick<Documents<D>, 'update'>,
  key: string,
  document: D,
  version: number,
): Promise<boolean> {
  return (await documents.update(key, (_, found) => (found === version ? document : undefined))).isChanged;
}
