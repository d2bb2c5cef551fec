import { createHash } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { CommunityId, Timestamp } from '../domain/ids.ts';
import { foldedName } from '../domain/searched-text.ts';
import type { Clock } from '../runtime/clock.ts';

type ReservedName = { readonly expiresAt: Timestamp };

const collection: Collection<ReservedName> = { name: 'customerNames', kind: 'record', indexes: [], ttl: 'expiresAt' };

/** How long a name is reserved: longer than an append takes, and than read models usually lag behind it. */
export const NAME_RESERVED_MS = 60_000;

/** Reserves the name of a customer while it is added: read models show it only after the append. */
export async function openCustomerNames(store: DocumentStore, clock: Clock) {
  const documents = await store.open(collection);
  return {
    /** @returns how to free the name if the customer is not added; undefined if another command has reserved it */
    async reserve(owner: CommunityId, name: string): Promise<{ free(): Promise<unknown> } | undefined> {
      const id = `${owner}:${createHash('sha256').update(foldedName(name)).digest('base64url')}`;
      const reserved = { expiresAt: toTimestamp(clock() + NAME_RESERVED_MS) };
      // One that has expired only waits to be removed.
      const isFree = (before: ReservedName | undefined) =>
        before === undefined || Date.parse(before.expiresAt) <= clock();
      const { isChanged, stored } = await documents.update(id, (before) => (isFree(before) ? reserved : undefined));
      return isChanged ? { free: () => documents.delete(id, stored.version) } : undefined;
    },
  };
}
