import type { DocumentStore } from '../document-store/document-store.ts';
import type { AccountKey } from '../domain/account.ts';
import { OIDC_RECORDS, oidcRecordKey } from './oidc-record.ts';

/** Ends what was issued. It is effective at once in every process: a token counts as long as its row is there. */
export interface Revocation {
  /** Ends a grant and everything that was issued under it. @returns false when there was none */
  endGrant(grantId: string): Promise<boolean>;
  /** Disconnects the apps that a user connected to an account. */
  endGrantsOf(userId: string, account: AccountKey): Promise<void>;
  /** Ends what belongs to a grant, a user or a client: all of it, or only one model. */
  endAllOf(field: 'grantId' | 'userId' | 'clientId', value: string, model?: string): Promise<void>;
}

export async function createRevocation(documents: DocumentStore): Promise<Revocation> {
  const records = await documents.open(OIDC_RECORDS);

  async function keysOf(field: string, value: string, model?: string) {
    const found: { key: string; grantId: string | undefined }[] = [];
    for await (const { key, document } of records.find({ where: { [field]: value } }))
      if (model === undefined || document.model === model)
        found.push({ key, grantId: document.model === 'Grant' ? document.grantId : undefined });
    return found;
  }

  async function endGrant(grantId: string): Promise<boolean> {
    // First the grant: from here on nothing new can be issued under it.
    const ended = await records.delete(oidcRecordKey('Grant', grantId));
    for (const { key } of await keysOf('grantId', grantId)) await records.delete(key);
    return ended;
  }

  return {
    endGrant,
    async endGrantsOf(userId, account) {
      const grants = await Array.fromAsync(records.find({ where: { account } }), ({ document }) => document);
      for (const { grantId, ...grant } of grants)
        if (grant.userId === userId && grantId !== undefined) await endGrant(grantId);
    },
    async endAllOf(field, value, model) {
      const found = await keysOf(field, value, model);
      for (const { grantId } of found) if (grantId !== undefined) await endGrant(grantId);
      for (const { key } of found) await records.delete(key);
    },
  };
}
