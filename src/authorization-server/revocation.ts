import type { UserRevocation } from '../auth/users.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { OIDC_RECORDS, oidcRecordKey, withField } from './oidc-record.ts';

type OwnerField = 'grantId' | 'userId' | 'clientId';

/** Revokes what was issued, at once in every process: a token is valid only as long as its record exists. */
export type Revocation = UserRevocation & {
  /** Ends a grant and everything issued under it. @returns false if there was none */
  endGrant(grantId: string): Promise<boolean>;
  /** Deletes the records of a grant or client, of all models or of one. */
  endAllOf(field: 'grantId' | 'clientId', value: string, model?: string): Promise<void>;
};

export async function createRevocation(documents: DocumentStore): Promise<Revocation> {
  const records = await documents.open(OIDC_RECORDS);

  async function keysOf(field: OwnerField, value: string, model?: string) {
    const found: { key: string; grantId: string | undefined }[] = [];
    for await (const { key, document } of records.find(withField(field, value)))
      if (model === undefined || document.model === model)
        found.push({ key, grantId: document.model === 'Grant' ? document.grantId : undefined });
    return found;
  }

  async function endGrant(grantId: string): Promise<boolean> {
    // The grant goes first: from here on nothing new can be issued under it.
    const ended = await records.delete(oidcRecordKey('Grant', grantId));
    for (const { key } of await keysOf('grantId', grantId)) await records.delete(key);
    return ended;
  }

  async function endAllOf(field: OwnerField, value: string, model?: string): Promise<void> {
    const found = await keysOf(field, value, model);
    for (const { grantId } of found) if (grantId !== undefined) await endGrant(grantId);
    for (const { key } of found) await records.delete(key);
  }

  return {
    endGrant,
    endAllOf,
    endSessionsOf: (userId) => endAllOf('userId', userId, 'Session'),
    endAllOfUser: (userId) => endAllOf('userId', userId),
    async endGrantsOf(userId, account) {
      const grants = await Array.fromAsync(records.find(withField('account', account)), ({ document }) => document);
      for (const { grantId, ...grant } of grants)
        if (grant.userId === userId && grantId !== undefined) await endGrant(grantId);
    },
  };
}
