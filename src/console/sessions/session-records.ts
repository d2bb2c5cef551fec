import type { Collection, DocumentStore, Find } from '../../document-store/document-store.ts';
import { declareQuery } from '../../document-store/queries.ts';
import type { Account } from '../../domain/account.ts';
import type { Timestamp } from '../../domain/ids.ts';

/** A user's session in one browser. */
export type Session = {
  readonly userId: string;
  /** The account that the user currently acts for. */
  readonly account: Account;
  readonly startedAt: Timestamp;
  readonly expiresAt: Timestamp;
  /** Such as `Firefox on Linux`. */
  readonly browser: string;
  /** Noted once an hour. */
  readonly lastUsedAt: Timestamp;
};

export const SESSIONS: Collection<Session> = {
  name: 'consoleSessions',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [{ fields: ['userId'] }],
};

export const ofUser = declareQuery(SESSIONS, (userId: string): Find<Session> => ({ where: { userId } }), ['usr_1']);

/** Erases the sessions of a user. */
export async function deleteSessionsOf(documents: DocumentStore, userId: string): Promise<void> {
  const sessions = await documents.open(SESSIONS);
  const stored = await Array.fromAsync(sessions.find(ofUser(userId)));
  for (const { key } of stored) await sessions.delete(key);
}
