import type { AddressConfirmation } from '../../auth/address-confirmation.ts';
import type { Invitations } from '../../auth/invitations.ts';
import type { TimedLink } from '../../auth/link-mail.ts';
import type { PasswordReset } from '../../auth/password-reset.ts';
import type { SignUps } from '../../auth/sign-ups.ts';
import type { User, Users } from '../../auth/users.ts';
import { accountOfKey } from '../../domain/account.ts';
import { ROLE_NAMES } from '../../domain/roles.ts';
import { namedText } from '../../html/html.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ContactConfirmation } from '../contact-confirmation.ts';
import type { AccountContacts } from '../contacts.ts';
import type { Compose, Message, NewMail } from '../new-mail.ts';
import { foreignAccountName } from './foreign-name.ts';
import { type MailText, renderMail } from './layout.ts';
import type { Skipped } from './written.ts';

const mailTo = (to: string, text: MailText): Message => ({ to, ...renderMail(text) });
const LINK_ENDED: Skipped = { skipped: 'Its link has ended.' };

/** Makes the mails that carry a link: to a new password, to confirm an address, to accept an invitation. */
export function composeLinks(deps: {
  readonly users: Pick<Users, 'get'>;
  readonly passwordReset: Pick<PasswordReset, 'mailed'>;
  readonly addressConfirmation: Pick<AddressConfirmation, 'mailed'>;
  readonly invitations: Pick<Invitations, 'get' | 'inviterOf' | 'mailed'>;
  readonly signUps: Pick<SignUps, 'mailed'>;
  readonly contacts: Pick<AccountContacts, 'pending'>;
  readonly contactConfirmation: Pick<ContactConfirmation, 'mailed'>;
  readonly accounts: Parameters<typeof foreignAccountName>[0];
  readonly publicUrl: string;
  readonly clock: Clock;
}): Compose {
  const { users, passwordReset, addressConfirmation, invitations, accounts, publicUrl, clock } = deps;
  const yourAccount = `${publicUrl}/console/account`;

  async function invitation({ userId }: NewMail): Promise<Message | Skipped> {
    const open = await invitations.get(userId);
    if (open === undefined) return { skipped: 'The invitation was accepted or withdrawn, or has ended.' };
    const name = await foreignAccountName(accounts, open.account, clock());
    const kind = open.account.kind === 'Community' ? 'community' : 'brand';
    const by = (await users.get((await invitations.inviterOf(open.id)) ?? ''))?.email;
    const inviter = by === undefined ? 'The operator of this booking service' : namedText(by);
    return mailTo(open.email, {
      subject: `Invitation to act for the ${kind} ${name}`,
      intro: [
        `${inviter} invites you to act for the ${kind} ${name} as a ${ROLE_NAMES[open.role]}.`,
        'The link works once, for a week. If you do not know this venue or brand, do nothing: you become no member.',
        'A member chose the name in quotes. This service asks for no password in a mail.',
      ],
      action: { text: 'See the invitation', url: invitations.mailed(open).url },
      footer: 'You get this mail because a member of the account entered your address.',
    });
  }

  /** Says nothing that the stranger who signed up has typed: the address may be that of another person. */
  async function signUp({ userId: id }: NewMail): Promise<Message | Skipped> {
    const mailed = await deps.signUps.mailed(id);
    if (mailed === undefined) return { skipped: 'The sign-up was confirmed, or has ended.' };
    const { email, link } = mailed;
    const footer = 'You get this mail because someone entered your address on this booking service.';
    if (link === undefined)
      return mailTo(email, {
        subject: 'You have a sign-in already',
        intro: [
          'Someone signed up with your address, which has a sign-in on this booking service. Nothing was changed.',
          'Sign in as before. If you do not know your password, choose “Forgot your password?” there.',
          'If it was not you, do nothing.',
        ],
        action: { text: 'Sign in', url: `${publicUrl}/console` },
        footer,
      });
    if (isOver(link)) return LINK_ENDED;
    return mailTo(email, {
      subject: 'Confirm your address',
      intro: [
        'Someone signed up on this booking service with your address. Confirm it to begin.',
        'The link works once, for a day. If it was not you, do nothing: nothing is made.',
      ],
      action: { text: 'Confirm the address', url: link.url },
      footer,
    });
  }

  /** The server may have been away for longer than the link works. */
  const isOver = ({ until }: TimedLink): boolean => Date.parse(until) <= clock();

  function reset(user: User, { at }: NewMail): Message | Skipped {
    if (user.passwordChangedAt > at) return { skipped: 'The password has changed since.' };
    const link = passwordReset.mailed(user, Date.parse(at));
    if (isOver(link)) return LINK_ENDED;
    return mailTo(user.email, {
      subject: 'Set a new password',
      intro: [
        'Someone asked for a link to set a new password for your sign-in.',
        'The link works once, for an hour. If you did not ask for it, do nothing: your password stays as it is.',
      ],
      action: { text: 'Set a new password', url: link.url },
      footer: 'You get this mail because you have a sign-in on this booking service.',
    });
  }

  function confirmation(user: User, { at }: NewMail): Message | Skipped {
    const { email, pendingEmail = email } = user;
    const link = addressConfirmation.mailed(user, Date.parse(at));
    if (isOver(link)) return LINK_ENDED;
    return mailTo(pendingEmail, {
      subject: 'Confirm your address',
      intro: [
        `Confirm that you read mail at ${namedText(pendingEmail)}.`,
        'The link works once, for a day. If you did not ask for it, do nothing.',
      ],
      action: { text: 'Confirm the address', url: link.url },
      footer: 'You get this mail because a user of this booking service entered your address.',
    });
  }

  function notice(user: User): Message | Skipped {
    if (user.pendingEmail === undefined) return { skipped: 'The change of the address is done, or was taken back.' };
    return mailTo(user.email, {
      subject: 'Your address is about to change',
      intro: [
        'Someone with your password asked to change the address of your sign-in. It changes once the new one is confirmed.',
        'If it was not you, change your password now: that takes the change back.',
      ],
      action: { text: 'Go to your account', url: yourAccount },
      footer: 'You get this mail because it is about the security of your sign-in. It cannot be turned off.',
    });
  }

  async function contact({ account: key = 'Brand:0' }: NewMail): Promise<Message | Skipped> {
    const account = accountOfKey(key);
    const pending = account && (await deps.contacts.pending(account));
    if (account === undefined || pending === undefined) return { skipped: 'The address was confirmed, or replaced.' };
    const name = await foreignAccountName(accounts, account, clock());
    const by = (await users.get(pending.requestedBy))?.email;
    return mailTo(pending.address, {
      subject: 'Confirm a contact address',
      intro: [
        `${by === undefined ? 'A member' : namedText(by)} of ${name} wants replies to mail about its bookings to go to this address.`,
        'The link works once, for a day. If you do not know this venue or brand, do nothing.',
      ],
      action: { text: 'Confirm the address', url: deps.contactConfirmation.mailed(account, pending).url },
      footer: 'You get this mail because a member of the account entered your address.',
    });
  }

  return async (mail) => {
    if (mail.kind === 'Invitation') return invitation(mail);
    if (mail.kind === 'ContactConfirmation') return contact(mail);
    if (mail.kind === 'SignUp') return signUp(mail);
    const user = await users.get(mail.userId);
    if (user === undefined) return { skipped: 'The user was removed.' };
    if (mail.kind === 'PasswordReset') return reset(user, mail);
    return mail.about.notice === undefined ? confirmation(user, mail) : notice(user);
  };
}
