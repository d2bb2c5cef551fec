import type { Collection as MongoCollection } from 'mongodb';
import type { Collection, DeclaredCollection } from '../document-store.ts';
import type { Retry } from './failures.ts';

/** The collection with the declarations of the others, which MongoDB does not store. */
export const REGISTRY = 'declaredCollections';

export type RegistryEntry = Pick<DeclaredCollection, 'kind' | 'ttl'> & { readonly _id: string };

/** Stores the declarations of collections. */
export function createRegistry(entries: MongoCollection<RegistryEntry>, retry: Retry) {
  const read = async () =>
    new Map((await retry(() => entries.find().toArray())).map((entry) => [entry._id, entry] as const));

  return {
    read,

    async add({ name, kind, ttl }: Pick<Collection<never>, 'name' | 'kind' | 'ttl'>): Promise<void> {
      const before = await retry(() => entries.findOne({ _id: name }));
      if (before !== null && before.kind === kind && before.ttl === ttl) return;
      const entry = { kind, ...(ttl !== undefined && { ttl }) };
      await retry(() => entries.replaceOne({ _id: name }, entry, { upsert: true }));
    },

    remove: (name: string): Promise<unknown> => retry(() => entries.deleteOne({ _id: name })),
  };
}
