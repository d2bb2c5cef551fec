import { randomBytes, randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Collection, DocumentStore, DocumentStoreOperations, Find } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey, accountOfKey, SYSTEM } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { isAddress, normalisedEmail } from '../domain/email-address.ts';
import type { MembershipEvent } from '../domain/events.ts';
import type { Timestamp } from '../domain/ids.ts';
import { MAX_INVITATIONS } from '../domain/limits.ts';
import { memberRoleOf, type Role } from '../domain/roles.ts';
import { atMost, openAccountQuota } from '../quotas/account-quota.ts';
import type { Clock } from '../runtime/clock.ts';
import type { LinkMails, TimedLink } from './link-mail.ts';
import { LINK_ENDED, LINK_PATHS, type LinkPurpose, type Links } from './links.ts';
import { belongsTo, roleIn } from './memberships.ts';
import {
  type ChangeContext,
  createRecorder,
  type MembershipLog,
  UNLOGGED,
  UNLOGGED_INDEX,
  type WithUnlogged,
  withChanges,
} from './unlogged-changes.ts';
import { type User, type Users, wrongPassword } from './users.ts';

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
  /** The user who made it. Absent: the operator, or a release that did not store it. */
  readonly inviterId?: string;
  /** Absent once it was accepted or withdrawn. The record then waits until the log has its events. */
  readonly email?: string;
  /** The person is accepting it: it can no longer be withdrawn. */
  readonly isAccepted?: true;
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

const DAY_MS = 24 * 60 * 60_000;
const INVITED_MS = 7 * DAY_MS;

/** An invitation with a link that works, and whether it came by mail. Only `check` makes it. */
type InvitationLink = { readonly invitation: Invitation; readonly isMailed: boolean };

export type Invitations = Awaited<ReturnType<typeof createInvitations>>;

const NO_INVITATION = refuse('ResourceNotFound', 'There is no such invitation.');
const OF_ANOTHER = refuse(
  'ValidationError',
  'This invitation is for another address. Sign in as the person who was invited.',
);
/** The refusal of a user who has not proved to read mail at the address. */
const NOT_CONFIRMED = refuse('ValidationError', 'Confirm your address first.', { reason: 'AddressNotConfirmed' });

/**
 * Invites people by address to act for an account, in a role, within a week. The inviter never gets the link, or could invite the address of
 * another person, set the password, and wait (docs/decisions/accounts.md).
 */
export async function createInvitations(deps: {
  readonly documents: DocumentStore & Pick<DocumentStoreOperations, 'now'>;
  readonly users: Pick<Users, 'get' | 'byEmail' | 'add' | 'addAccount'>;
  readonly links: Links;
  readonly mails: LinkMails;
  readonly log: MembershipLog;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'error'>;
  readonly publicUrl: string;
  /** Counts an invitation of an account. @returns the wait in milliseconds if there were too many today, otherwise 0 */
  readonly countInvitation: (account: AccountKey) => Promise<number>;
}) {
  const { documents, users, links, mails, clock, publicUrl } = deps;
  const records = await documents.open(INVITATIONS);
  const { finish, finishAll } = createRecorder({
    ...deps,
    records,
    unlogged,
    isEnded: ({ email }) => email === undefined,
    settle: async () => {},
  });

  const quota = await openAccountQuota<{ readonly id: string }>({
    documents,
    collection: { name: 'invitationQuotas', kind: 'record', indexes: [] },
    idOf: ({ id }) => id,
    exists: async (id) => {
      const stored = await records.get(id);
      return stored && (await opened(id, stored.document)) !== undefined;
    },
    existing: async (account) => (await openOf(account)).map(({ id }) => ({ id })),
    clock,
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

  async function send({ id, account }: Invitation): Promise<void> {
    if (!mails.isConfigured) return;
    const now = clock();
    const cause = `${id}-${Math.floor(now / DAY_MS)}`;
    const about = { invitationId: id };
    const at = toTimestamp(now);
    await mails.enqueue({ kind: 'Invitation', cause, userId: id, account: accountKey(account), about, at });
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
      if (document?.email === undefined || (document.isAccepted && !force)) return undefined;
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
    const taken = await quota.take(key, () => ({ id: `inv_${randomBytes(12).toString('base64url')}` }), oneMore);
    if (isRefusal(taken)) return taken;
    const { id } = taken;
    const now = clock();
    const [createdAt, expiresAt] = [toTimestamp(now), toTimestamp(now + INVITED_MS)];
    const data = { changeId: randomUUID(), account, invitationId: id, role: memberRoleOf(role) };
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

  function linkTo({ id, createdAt, expiresAt }: Invitation, purpose: LinkPurpose): TimedLink {
    const until = Date.parse(expiresAt);
    const token = links.make({ purpose, id, until, state: [createdAt] });
    return { url: `${publicUrl}${LINK_PATHS.invitation}?link=${token}`, until: expiresAt };
  }

  async function check(token: string): Promise<InvitationLink | undefined> {
    const link = links.read(token);
    const invitation = link && (await get(link.id));
    if (link === undefined || invitation === undefined) return undefined;
    const purpose = links.purposeOf(link, ['invitation', 'invitation by operator'], [invitation.createdAt]);
    return purpose && { invitation, isMailed: purpose === 'invitation' };
  }

  /** Makes the person a member, once: from the first step on, the invitation can only be accepted. */
  async function accept({ id, account }: Invitation, join: () => Promise<User | Refusal>): Promise<User | Refusal> {
    const { stored } = await records.update(id, (document) =>
      document?.email === undefined ? undefined : { ...document, isAccepted: true },
    );
    if (stored?.document.email === undefined) return LINK_ENDED;
    const user = await join();
    if (!isRefusal(user)) await erase(id);
    else
      await records.update(id, (document) => {
        if (document?.email === undefined) return undefined;
        const { isAccepted: _, ...open } = document;
        return open;
      });
    // A demotion meanwhile has left it, because it was being accepted.
    if (isRefusal(user)) await withdrawLapsed(account, { actor: SYSTEM, correlationId: id });
    return user;
  }

  /** The maker may have been demoted while the person chose a password. */
  const refusalToJoin =
    ({ id }: Invitation) =>
    async (): Promise<Refusal | undefined> =>
      (await get(id)) === undefined ? LINK_ENDED : undefined;

  async function withdrawLapsed(account: Account, context: ChangeContext): Promise<void> {
    for await (const { key, document } of records.find(withField('account', accountKey(account))))
      if (document.email !== undefined && (await isLapsed(document.inviterId, account)))
        await withdraw({ id: key, account }, context);
  }

  function whyNot({ invitation, isMailed }: InvitationLink, user: User): Refusal | undefined {
    if (user.email !== invitation.email) return OF_ANOTHER;
    // The operator, who entered the address, also chose whom to give the link.
    return isMailed && user.emailConfirmedAt === undefined ? NOT_CONFIRMED : undefined;
  }

  return {
    sendsMail: mails.isConfigured,
    get,

    /** The open invitations of an account, or all of them, the oldest first. */
    listOpen: (account?: Account): Promise<readonly Invitation[]> => openOf(account && accountKey(account)),

    /**
     * Invites a person, and sends them the link if mail is configured. Repeating it sends the same link again, at most once a day. Refuses the
     * inviter's own address and those of members, whom the inviter knows; anything else is answered alike for every address.
     */
    async invite(
      { account, role, ...wanted }: { readonly account: Account; readonly role: Role; readonly email: string },
      inviter: Pick<User, 'id' | 'email'> | undefined,
      context: ChangeContext,
    ): Promise<Invitation | Refusal> {
      const email = normalisedEmail(wanted.email);
      if (!isAddress(email)) return refuse('ValidationError', 'This is not an e-mail address.');
      if (inviter?.email === email) return refuse('ValidationError', 'This is your own address.');
      const known = await users.byEmail(email);
      if (known !== undefined && belongsTo(known, account))
        return refuse('ValidationError', 'A person with this address is a member already.');
      const open = (await openOf(accountKey(account))).find((one) => one.email === email);
      if (open !== undefined && open.role !== role)
        return refuse('ValidationError', 'This address has an open invitation in another role. Withdraw it first.');
      if (open === undefined && (await deps.countInvitation(accountKey(account))) > 0)
        return refuse('ValidationError', 'This account has sent too many invitations today. Try again tomorrow.');
      const invitation = await (open === undefined
        ? add({ account, role, email }, inviter?.id, context)
        : takeOver(open, inviter?.id));
      if (!isRefusal(invitation)) await send(invitation);
      return invitation;
    },

    /** Withdraws an open invitation of an account. Its link no longer works. */
    async withdraw(account: Account, id: string, context: ChangeContext): Promise<Refusal | undefined> {
      const invitation = await get(id);
      if (invitation === undefined || accountKey(invitation.account) !== accountKey(account)) return NO_INVITATION;
      return (await withdraw(invitation, context)) ? undefined : NO_INVITATION;
    },

    /** Withdraws the open invitations to an address, or of an account: the address is erased. */
    async withdrawAll(of: { readonly email: string } | { readonly account: Account }, context: ChangeContext) {
      const query = 'email' in of ? withField('email', of.email) : withField('account', accountKey(of.account));
      for await (const { key, document } of records.find(query)) {
        const account = accountOfKey(document.account);
        if (account !== undefined) await withdraw({ id: key, account }, context, true);
      }
    },

    /** Withdraws the invitations of members who are no longer Managers of the account. Call it after such a change. */
    withdrawLapsed,

    /** The user who made an invitation; undefined if it was the operator. */
    inviterOf: async (id: string): Promise<string | undefined> => (await records.get(id))?.document.inviterId,

    /** The link of a mail. The same each time. */
    mailed: (invitation: Invitation): TimedLink => linkTo(invitation, 'invitation'),

    /** A link for the operator to hand over, which does not prove that the person reads mail at the address. */
    printed: (invitation: Invitation): TimedLink => linkTo(invitation, 'invitation by operator'),

    /** The invitation of a link; undefined if it does not work. Changes nothing. */
    check,

    /** Why a signed-in user cannot accept an invitation; undefined if they can. */
    whyNot,

    /** Makes a signed-in user a member. */
    async accept(link: InvitationLink, user: User, context: ChangeContext): Promise<User | Refusal> {
      const { account, role } = link.invitation;
      const refusal = whyNot(link, user);
      if (refusal !== undefined) return refusal;
      const mayJoin = refusalToJoin(link.invitation);
      const join = async () => (await mayJoin()) ?? users.addAccount(user.id, account, role, context);
      return accept(link.invitation, join);
    },

    /** Makes a person without a sign-in a user, with a password. A link that came by mail confirms the address. */
    async acceptAsNew(
      link: InvitationLink,
      password: string,
      context: Omit<ChangeContext, 'actor'>,
    ): Promise<User | Refusal> {
      const { account, role, email } = link.invitation;
      const wrong = wrongPassword(password);
      if (wrong !== undefined) return wrong;
      // Otherwise the link would set the password of a user who has one.
      if ((await users.byEmail(email)) !== undefined) return LINK_ENDED;
      const user = {
        email,
        password,
        accounts: [account],
        role,
        isConfirmed: link.isMailed,
        refusalToJoin: refusalToJoin(link.invitation),
      };
      return accept(link.invitation, () => users.add(user, context));
    },

    /** Appends the events that the log lacks. */
    finishChanges: finishAll,
  };
}
