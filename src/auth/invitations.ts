import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { isAddress, normalisedEmail } from '../domain/email-address.ts';
import type { Role } from '../domain/roles.ts';
import type { Invitation, InvitationRecords } from './invitation-records.ts';
import type { LinkedDeps, TimedLink } from './link-mail.ts';
import { LINK_ENDED, LINK_PATHS, type LinkPurpose } from './links.ts';
import { belongsTo } from './memberships.ts';
import { type IsSuspended, SUSPENDED } from './suspension.ts';
import type { ChangeContext } from './unlogged-changes.ts';
import { type User, type Users, wrongPassword } from './users.ts';

export type { Invitation };

const DAY_MS = 24 * 60 * 60_000;

/** An invitation with a link that works, and whether it came by mail. Only `check` makes it. */
type InvitationLink = { readonly invitation: Invitation; readonly isMailed: boolean };

export type Invitations = ReturnType<typeof createInvitations>;

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
export function createInvitations(
  deps: LinkedDeps & {
    readonly records: InvitationRecords;
    readonly users: Pick<Users, 'get' | 'byEmail' | 'add' | 'addAccount'>;
    readonly isSuspended: IsSuspended;
    /** Counts an invitation of an account. @returns the wait in milliseconds if there were too many today, otherwise 0 */
    readonly countInvitation: (account: AccountKey) => Promise<number>;
  },
) {
  const { records, users, links, mails, clock, publicUrl } = deps;
  const { get, openOf, inviterOf } = records;

  async function send({ id, account }: Invitation): Promise<void> {
    if (!mails.isConfigured) return;
    const now = clock();
    const cause = `${id}-${Math.floor(now / DAY_MS)}`;
    const about = { invitationId: id };
    const at = toTimestamp(now);
    await mails.enqueue({ kind: 'Invitation', cause, userId: id, account: accountKey(account), about, at });
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

  /** The maker may have been demoted, or the account suspended, while the person chose a password. */
  const refusalToJoin =
    ({ id, account }: Invitation) =>
    async (): Promise<Refusal | undefined> => {
      if ((await get(id)) === undefined) return LINK_ENDED;
      return (await deps.isSuspended(account)) ? SUSPENDED : undefined;
    };

  function whyNot({ invitation, isMailed }: InvitationLink, user: User): Refusal | undefined {
    if (user.email !== invitation.email) return OF_ANOTHER;
    // The operator, who entered the address, also chose whom to give the link.
    return isMailed && user.emailConfirmedAt === undefined ? NOT_CONFIRMED : undefined;
  }

  return {
    sendsMail: mails.isConfigured,
    get,
    inviterOf,

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
        ? records.add({ account, role, email }, inviter?.id, context)
        : records.takeOver(open, inviter?.id));
      if (!isRefusal(invitation)) await send(invitation);
      return invitation;
    },

    /** Withdraws an open invitation of an account. Its link no longer works. */
    async withdraw(account: Account, id: string, context: ChangeContext): Promise<Refusal | undefined> {
      const invitation = await get(id);
      if (invitation === undefined || accountKey(invitation.account) !== accountKey(account)) return NO_INVITATION;
      return (await records.withdraw(invitation, context)) ? undefined : NO_INVITATION;
    },

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
      return records.accept(link.invitation, join);
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
      return records.accept(link.invitation, () => users.add(user, context));
    },
  };
}
