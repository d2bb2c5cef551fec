import type { Documents } from '../../src/document-store/document-store.ts';
import type { ReadModel } from '../../src/read-models/reader.ts';

/** Stands in for a read model, with the documents of one collection. */
export const readModelOf = <D extends object>(
  documents: Documents<D>,
): Pick<ReadModel<D>, 'get' | 'find' | 'list' | 'count' | 'groups'> => ({
  get: async (key) => (await documents.get(key))?.document,
  async *find(query) {
    for await (const { document } of documents.find(query)) yield document;
  },
  list: (query) => Array.fromAsync(documents.find(query), ({ document }) => document),
  count: (query) => documents.count(query),
  groups: (...asked) => documents.groups(...asked),
});
