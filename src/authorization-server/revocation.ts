import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import {
  type ChangeContext,
  createRecorder,
  type MembershipLog,
  UNLOGGED,
  withChanges,
} from '../auth/unlogged-changes.ts';
import type { DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type AccountKey, accountOfKey } from '../domain/account.ts';
import type { MembershipEvent } from '../domain/events.ts';
import type { Clock } from '../runtime/clock.ts';
import { CONSOLE_CLIENT_ID } from './console-client.ts';
import { ENDED_GRANT, OIDC_RECORDS, type OidcRecord, oidcRecordKey, withField } from './oidc-record.ts';

const unlogged = declareQuery(OIDC_RECORDS, (): Find<OidcRecord> => UNLOGGED, []);

/** The longest time that an ended grant's record is kept for the log. */
const ENDED_GRANT_TTL_MS = 365 * 24 * 3_600_000;

export type Revocation = Awaited<ReturnType<typeof createRevocation>>;

/** Revokes tokens and grants at once in every process: a token is valid only while its record exists. */
export async function createRevocation(deps: {
  readonly documents: DocumentStore;
  readonly log: MembershipLog;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
}) {
  const { clock } = deps;
  const records = await deps.documents.open(OIDC_RECORDS);
  const recorder = createRecorder({
    ...deps,
    records,
    unlogged,
    isEnded: ({ model }) => model === ENDED_GRANT,
    async settle(_, { type, data }) {
      if (type === 'AppDisconnected') await deleteAllOf(data.grantId);
    },
  });

  const recordsOf = (field: 'grantId' | 'userId' | 'clientId' | 'account', value: string) =>
    Array.fromAsync(records.find(withField(field, value)));

  async function deleteAllOf(grantId: string): Promise<void> {
    for (const { key } of await recordsOf('grantId', grantId)) await records.delete(key);
  }

  /** Ends a grant and everything issued under it. @returns false if there was none */
  async function endGrant(grantId: string, context: ChangeContext): Promise<boolean> {
    const key = oidcRecordKey('Grant', grantId);
    // Delete the grant first, so that nothing new is issued under it.
    const { isChanged, stored } = await records.update(key, (grant) => {
      const change = grant === undefined || grant.model === ENDED_GRANT ? undefined : disconnection(grantId, grant);
      return grant && change && withChanges(ended(grant, clock()), [change], context);
    });
    if (isChanged) {
      await recorder.finish(key);
      return true;
    }
    // A grant without an account is not in the log.
    const isDeleted = stored !== undefined && stored.document.model !== ENDED_GRANT && (await records.delete(key));
    await deleteAllOf(grantId);
    if (!isDeleted) await recorder.finish(key);
    return isDeleted;
  }

  /** Ends the grants of a user or client, and deletes everything issued under them. */
  async function endAllOf(field: 'userId' | 'clientId', value: string, context: ChangeContext): Promise<void> {
    for (const { key, document } of await recordsOf(field, value)) {
      const { model, grantId } = document;
      await (model === 'Grant' && grantId !== undefined ? endGrant(grantId, context) : records.delete(key));
    }
  }

  return {
    endGrant,
    /** Ends a client's grants and everything issued to it. */
    endAllOfClient: (clientId: string, context: ChangeContext): Promise<void> =>
      endAllOf('clientId', clientId, context),
    /** Deletes the records of one model that were issued under a grant. The grant stays. */
    async deleteIssued(grantId: string, model: string): Promise<void> {
      for (const { key, document } of await recordsOf('grantId', grantId))
        if (document.model === model) await records.delete(key);
    },
    /** Appends the unlogged changes of a grant to the log. */
    finishGrant: (grantId: string): Promise<void> => recorder.finish(oidcRecordKey('Grant', grantId)),
    /** Finishes interrupted changes to grants, and appends those that are not in the log yet. */
    finishChanges: recorder.finishAll,
    /** Ends the sessions of a user at the authorization server. */
    async endSessionsOf(userId: string): Promise<void> {
      for (const { key, document } of await recordsOf('userId', userId))
        if (isSignIn(document)) await records.delete(key);
    },
    endAllOfUser: (userId: string, context: ChangeContext): Promise<void> => endAllOf('userId', userId, context),
    async endAppsOf(userId: string, account: AccountKey, context: ChangeContext): Promise<void> {
      for (const { document } of await recordsOf('account', account))
        if (document.userId === userId && document.grantId !== undefined) await endGrant(document.grantId, context);
    },
  };
}

/** A session, or a step of signing in to the console on the way to one. */
const isSignIn = ({ model, clientId }: OidcRecord): boolean =>
  model === 'Session' || model === 'Interaction' || (model === 'AuthorizationCode' && clientId === CONSOLE_CLIENT_ID);

/** An ended grant until its event is in the log. No query by owner finds it, and nothing can be issued under it. */
const ended = ({ createdAt, unlogged: changes = [] }: OidcRecord, now: number): OidcRecord => ({
  model: ENDED_GRANT,
  sealed: '',
  createdAt,
  expiresAt: new Date(now + ENDED_GRANT_TTL_MS).toISOString(),
  unlogged: changes,
});

/** The event for the end of a grant; undefined for a grant that only identifies the user (the console's). */
function disconnection(grantId: string, grant: OidcRecord): MembershipEvent | undefined {
  const { userId, clientId } = grant;
  const account = accountOfKey(grant.account ?? '');
  if (account === undefined || userId === undefined || clientId === undefined) return undefined;
  return { type: 'AppDisconnected', data: { changeId: randomUUID(), account, userId, clientId, grantId } };
}
