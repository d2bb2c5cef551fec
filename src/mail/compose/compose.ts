import { roleIn } from '../../auth/memberships.ts';
import { calendarFile } from '../../contract/icalendar.ts';
import { type Account, accountInWords, accountKey, accountOfKey } from '../../domain/account.ts';
import { subjectOfUser } from '../../domain/personal-text.ts';
import { amountFor } from '../../html/amounts.ts';
import { namedText } from '../../html/html.ts';
import { type ChosenKind, isAlways, isChosen, type MailKind, mayGet } from '../kinds.ts';
import type { Compose, Message, NewMail } from '../new-mail.ts';
import { wants } from '../preferences.ts';
import type { Subscription } from '../unsubscribing.ts';
import { accountMail } from './account-mails.ts';
import { type BookingWritten, bookingMail } from './booking-mails.ts';
import { dayPlan } from './day-plan.ts';
import { digestOf } from './digest.ts';
import { type MailText, renderMail } from './layout.ts';
import { isOfQuestion, questionMail } from './question-mails.ts';
import type { ComposeDeps, MailedUser, Reader, Skipped, Written } from './written.ts';

/** An invitation and a sign-up name themselves instead of a user, and the confirmation of a contact address the account. */
const NAMES_NO_USER: ReadonlySet<MailKind> = new Set(['Invitation', 'SignUp', 'ContactConfirmation']);

/**
 * Writes mails when they are sent: to whom they go, whether they are still wanted, and what they say. Nothing of it is stored,
 * so texts that were erased meanwhile read "erased".
 */
export function createCompose(deps: ComposeDeps): Compose {
  const { isForgotten, queries } = deps;

  return async (mail, others = []) => {
    const { kind, userId } = mail;
    if (!NAMES_NO_USER.has(kind) && (await isForgotten(subjectOfUser(userId))))
      return { skipped: 'The user was forgotten.' };
    if (!isChosen(kind) && !isAlways(kind)) return deps.links(mail);
    const known = await deps.user(userId);
    if (known === undefined) return { skipped: 'The user was removed.' };
    if (others.length > 0) return digest(known, [...others, mail]);
    const account = mail.account === undefined ? undefined : accountOfKey(mail.account);
    const reader = account && (await readerOf(mail, account, known));
    if (reader !== undefined && 'skipped' in reader) return reader;
    const written = await write(mail, reader);
    if ('skipped' in written) return written;
    return messageTo(known.email, mail, written, reader);
  };

  function messageTo(
    to: string,
    mail: NewMail,
    written: Written,
    reader: Reader | undefined,
    kind: Subscription['kind'] | undefined = isChosen(mail.kind) ? mail.kind : undefined,
  ): Message {
    const { replyTo, calendar = [], ...text } = written;
    return {
      to,
      ...renderMail({ ...text, ...footerOf(mail, reader) }),
      ...(replyTo !== undefined && { replyTo }),
      ...(reader !== undefined &&
        kind !== undefined && {
          unsubscribeUrl: deps.unsubscribing.url(
            { userId: mail.userId, account: accountKey(reader.account), kind },
            deps.clock(),
          ),
        }),
      ...(calendar.length > 0 && { calendar: calendarFile(calendar, deps.sender) }),
    };
  }

  /** The footer is that of the latest news. */
  async function digest(user: MailedUser, mails: readonly NewMail[]): Promise<Message | Skipped> {
    let last: { readonly mail: NewMail; readonly reader: Reader } | undefined;
    const ended = await digestOf(
      mails,
      async (mail) => {
        const account = mail.account === undefined ? undefined : accountOfKey(mail.account);
        if (account === undefined) return { skipped: 'It names no account.' };
        const reader = await readerOf(mail, account, user);
        if ('skipped' in reader) return reader;
        last ??= { mail, reader };
        return aboutBooking(mail, reader);
      },
      deps.publicUrl,
    );
    if ('skipped' in ended || last === undefined) return { skipped: 'What it was about is no longer news.' };
    return 'only' in ended
      ? messageTo(user.email, last.mail, ended.only, last.reader)
      : messageTo(user.email, last.mail, ended.digest, last.reader, 'all');
  }

  /** A mail about a booking, or about a space without one. */
  async function aboutBooking(
    { kind, about }: Pick<NewMail, 'about'> & { readonly kind: ChosenKind },
    reader: Reader,
  ): Promise<BookingWritten | Skipped> {
    return isOfQuestion({ kind, about })
      ? questionMail(deps, { about, reader })
      : bookingMail(deps, { kind, about, reader });
  }

  /** The reader, if the user still wants the mail and may get it. */
  async function readerOf(
    { kind, userId, about }: NewMail,
    account: Account,
    user: MailedUser,
  ): Promise<Reader | Skipped> {
    const role = roleIn(user, account);
    if (role === undefined) return { skipped: 'The user left the account.' };
    if ((isChosen(kind) || isAlways(kind)) && !mayGet(kind, account.kind, role))
      return { skipped: 'The role of the user no longer allows it.' };
    // The plan of a day is about several spaces, and leaves out those that are not wanted.
    if (isChosen(kind) && kind !== 'EventTomorrow') {
      const spaceId = account.kind === 'Community' ? Number(about.spaceId) : undefined;
      const preferences = await deps.preferences.get(userId, accountKey(account));
      if (!wants(preferences, kind, role, spaceId)) return { skipped: 'The user turned this mail off.' };
    }
    const accountName = (await queries.accounts.name(account)) ?? accountInWords(account);
    return { account, role, amount: amountFor(role), accountName };
  }

  async function write(mail: NewMail, reader: Reader | undefined): Promise<Written | Skipped> {
    const { kind } = mail;
    if (kind === 'EventTomorrow' && reader !== undefined) return dayPlan(deps, { mail, reader });
    if (isChosen(kind) && reader !== undefined) return aboutBooking({ ...mail, kind }, reader);
    if (isAlways(kind)) return accountMail(deps, kind, mail, reader);
    return { skipped: 'It names no account.' };
  }

  /** Why the reader gets it, and where to turn it off. */
  function footerOf({ kind }: NewMail, reader: Reader | undefined): Pick<MailText, 'footer' | 'footerLink'> {
    if (reader === undefined) return { footer: 'Mail about your password is always sent.' };
    // No sentence ends with the name, which may have a full stop of its own.
    const because = `As a member of ${namedText(reader.accountName)} you get this mail.`;
    const footerLink = { text: 'Your mail settings', url: settingsUrl(deps.publicUrl, reader.account) };
    return isChosen(kind)
      ? { footer: `${because} You can turn it off:`, footerLink }
      : { footer: `${because} Mail about the security and connections of an account is always sent.`, footerLink };
  }
}

/** The settings of one account, to which the console offers to switch. */
const settingsUrl = (publicUrl: string, account: Account): string =>
  `${publicUrl}/console/mail/settings?of=${accountKey(account)}`;
