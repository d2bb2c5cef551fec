import { randomBytes, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Collection, DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey, accountOfKey, SYSTEM } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { MembershipEvent } from '../domain/events.ts';
import type { Timestamp } from '../domain/ids.ts';
import { MAX_INVITATIONS } from '../domain/limits.ts';
import type { Role } from '../domain/roles.ts';
import { atMost, eachOf, openAccountQuota } from '../quotas/account-quota.ts';
import type { Clock } from '../runtime/clock.ts';
import { LINK_ENDED } from './links.ts';
import { roleIn } from './memberships.ts';
import {
  type ChangeContext,
  createRecorder,
  type MembershipLog,
  UNLOGGED,
  UNLOGGED_INDEX,
  type WithUnlogged,
  withChanges,
} from './unlogged-changes.ts';
import type { UserLookups } from './user-lookups.ts';
import type { User } from './user-record.ts';

/** A person who may act for an account as soon as they accept. The address is nowhere else, and erased with the record. */
export type Invitation = {
  readonly id: string;
  readonly account: Account;
  readonly role: Role;
  readonly email: string;
  readonly createdAt: Timestamp;
  readonly expiresAt: Timestamp;
};

type InvitationDocument = WithUnlogged & {
  readonly account: AccountKey;
  readonly role: Role;
  readonly createdAt: Timestamp;
  readonly expiresAt: Timestamp;
  /** The user who made it. Absent: the operator. */
  readonly inviterId?: string;
  /** Absent once it was accepted or withdrawn. The record then waits until the log has its events. */
  readonly email?: string;
  /** Since when the person has been accepting it. While it is, it can be withdrawn only by force. */
  readonly acceptingSince?: Timestamp;
};

const INVITATIONS: Collection<InvitationDocument> = {
  name: 'invitations',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [{ fields: ['account'] }, { fields: ['email'] }, UNLOGGED_INDEX],
};

const withField = declareQuery(
  INVITATIONS,
  (field: 'account' | 'email', value: string): Find<InvitationDocument> => ({ where: { [field]: value } }),
  ['account', 'Brand:1'],
  ['email', 'ada@example.com'],
);
const unlogged = declareQuery(INVITATIONS, (): Find<InvitationDocument> => UNLOGGED, []);

const withoutAddress = ({ email: _, ...document }: InvitationDocument): InvitationDocument => document;

const INVITED_MS = 7 * 24 * 60 * 60_000;
/** Longer than a request takes. After it, the process that was accepting has died or failed. */
const ACCEPTING_MS = 60_000;

export type InvitationRecords = Awaited<ReturnType<typeof openInvitationRecords>>;

/** The stored invitations: which are open, and how they end. */
export async function openInvitationRecords(deps: {
  readonly documents: DocumentStore;
  readonly users: Pick<UserLookups, 'get'>;
  readonly log: MembershipLog;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
}) {
  const { documents, users, clock } = deps;
  const records = await documents.open(INVITATIONS);
  const { finish, finishAll } = createRecorder({
    ...deps,
    records,
    unlogged,
    isEnded: ({ email }) => email === undefined,
    settle: async () => {},
  });

  const quota = await openAccountQuota<Pick<Invitation, 'id' | 'expiresAt'>>({
    documents,
    collection: { name: 'invitationQuotas', kind: 'record', indexes: [] },
    idOf: ({ id }) => id,
    exist: eachOf(async ({ id, expiresAt }) => {
      if (Date.parse(expiresAt) <= clock()) return false;
      const stored = await records.get(id);
      return stored && (await opened(id, stored.document)) !== undefined;
    }),
    existing: async (account) => (await openOf(account)).map(({ id, expiresAt }) => ({ id, expiresAt })),
  });
  const oneMore = atMost(
    MAX_INVITATIONS,
    `An account can have at most ${MAX_INVITATIONS} open invitations; withdraw one first.`,
  );

  /** An invitation is open only while the member who made it is a Manager. */
  async function opened(id: string, document: InvitationDocument): Promise<Invitation | undefined> {
    const { email, role, createdAt, expiresAt } = document;
    const account = accountOfKey(document.account);
    if (email === undefined || account === undefined || Date.parse(expiresAt) <= clock()) return undefined;
    if (await isLapsed(document.inviterId, account)) return undefined;
    return { id, account, role, email, createdAt, expiresAt };
  }

  const isBeingAccepted = ({ acceptingSince }: InvitationDocument): boolean =>
    acceptingSince !== undefined && Math.abs(clock() - Date.parse(acceptingSince)) < ACCEPTING_MS;

  async function isLapsed(inviterId: string | undefined, account: Account): Promise<boolean> {
    if (inviterId === undefined) return false;
    const inviter = await users.get(inviterId);
    return inviter === undefined || roleIn(inviter, account) !== 'Manager';
  }

  async function get(id: string): Promise<Invitation | undefined> {
    const stored = await records.get(id);
    return stored && opened(id, stored.document);
  }

  async function openOf(account: AccountKey | undefined): Promise<Invitation[]> {
    const query = account === undefined ? everyDocument<InvitationDocument>() : withField('account', account);
    const stored = await Array.fromAsync(records.find(query));
    const list = await Promise.all(stored.map(({ key, document }) => opened(key, document)));
    return list.filter((each) => each !== undefined).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
  }

  /** Erases an invitation that was accepted, once the log has its events. */
  async function erase(id: string): Promise<void> {
    const { stored } = await records.update(id, (document) => document && withoutAddress(document));
    if (stored === undefined) return;
    // Without an address, no change can add events.
    if (stored.document.unlogged?.length === 0) await records.delete(id);
    else await finish(id);
    await quota.release(stored.document.account, id);
  }

  /** @param force even if the person is accepting it @returns whether it was open */
  async function withdraw(
    { id, account }: Pick<Invitation, 'id' | 'account'>,
    context: ChangeContext,
    force = false,
  ): Promise<boolean> {
    const change: MembershipEvent = {
      type: 'InvitationWithdrawn',
      data: { changeId: randomUUID(), account, invitationId: id },
    };
    const { isChanged } = await records.update(id, (document) => {
      if (document?.email === undefined || (isBeingAccepted(document) && !force)) return undefined;
      return withChanges(withoutAddress(document), [change], context);
    });
    if (!isChanged) return false;
    await finish(id);
    await quota.release(accountKey(account), id);
    return true;
  }

  /** @returns the new invitation, or a refusal if the account has too many */
  async function add(
    wanted: Pick<Invitation, 'account' | 'role' | 'email'>,
    inviterId: string | undefined,
    context: ChangeContext,
  ): Promise<Invitation | Refusal> {
    const { account, role, email } = wanted;
    const key = accountKey(account);
    const now = clock();
    const [createdAt, expiresAt] = [toTimestamp(now), toTimestamp(now + INVITED_MS)];
    const id = `inv_${randomBytes(12).toString('base64url')}`;
    const taken = await quota.take(key, () => ({ id, expiresAt }), oneMore);
    if (isRefusal(taken)) return taken;
    const data = { changeId: randomUUID(), account, invitationId: id, role };
    const document = { account: key, role, email, createdAt, expiresAt, ...defined({ inviterId }) };
    await records.insert(id, withChanges<InvitationDocument>(document, [{ type: 'MemberInvited', data }], context));
    await finish(id);
    return { id, account, role, email, createdAt, expiresAt };
  }

  /** Makes an open invitation that of the last who invites the person. One of the operator stays the operator's. */
  async function takeOver(invitation: Invitation, inviterId: string | undefined): Promise<Invitation> {
    await records.update(invitation.id, (document) => {
      if (document?.inviterId === undefined || document.inviterId === inviterId) return undefined;
      const { inviterId: _, ...others } = document;
      return { ...others, ...defined({ inviterId }) };
    });
    return invitation;
  }

  /** Makes the person a member, once: from the first step on, the invitation can only be accepted. */
  async function accept({ id, account }: Invitation, join: () => Promise<User | Refusal>): Promise<User | Refusal> {
    const { stored } = await records.update(id, (document) =>
      document?.email === undefined ? undefined : { ...document, acceptingSince: toTimestamp(clock()) },
    );
    if (stored?.document.email === undefined) return LINK_ENDED;
    const user = await join();
    if (!isRefusal(user)) await erase(id);
    else
      await records.update(id, (document) => {
        if (document?.email === undefined) return undefined;
        const { acceptingSince: _, ...open } = document;
        return open;
      });
    // A demotion meanwhile has left it, because it was being accepted.
    if (isRefusal(user)) await withdrawLapsed(account, { actor: SYSTEM, correlationId: id });
    return user;
  }

  async function withdrawLapsed(account: Account, context: ChangeContext): Promise<void> {
    for await (const { key, document } of records.find(withField('account', accountKey(account))))
      if (document.email !== undefined && (await isLapsed(document.inviterId, account)))
        await withdraw({ id: key, account }, context);
  }

  return {
    get,
    openOf,
    add,
    takeOver,
    accept,
    withdraw,

    /** Withdraws the invitations of members who are no longer Managers of the account. Call it after such a change. */
    withdrawLapsed,

    /** Withdraws the open invitations to an address, or of an account: the address is erased. */
    async withdrawAll(of: { readonly email: string } | { readonly account: Account }, context: ChangeContext) {
      const query = 'email' in of ? withField('email', of.email) : withField('account', accountKey(of.account));
      for await (const { key, document } of records.find(query)) {
        const account = accountOfKey(document.account);
        if (account !== undefined) await withdraw({ id: key, account }, context, true);
      }
    },

    /** The user who made an invitation; undefined if it was the operator. */
    inviterOf: async (id: string): Promise<string | undefined> => (await records.get(id))?.document.inviterId,

    /** Appends the events that the log lacks. */
    finishChanges: finishAll,
  };
}
