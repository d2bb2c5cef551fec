import type { AccountKey } from '../domain/account.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Links } from './links.ts';

/** A mail with a link. It names the user, the invitation, the sign-up or the account, from which address and link are made when it is sent. */
type LinkMail = {
  readonly kind: 'PasswordReset' | 'AddressConfirmation' | 'ContactConfirmation' | 'Invitation' | 'SignUp';
  readonly cause: string;
  readonly userId: string;
  readonly account?: AccountKey;
  readonly about: Readonly<Record<string, string>>;
  readonly at: Timestamp;
};

/** Takes mails that are to be sent; implemented in `mail/`. A mail with the same kind, cause and user is sent once. */
export type LinkMails = { readonly isConfigured: boolean; enqueue(mail: LinkMail): Promise<void> };

/** What everything needs that is confirmed by a link in a mail. */
export type LinkedDeps = {
  readonly links: Links;
  readonly mails: LinkMails;
  readonly clock: Clock;
  readonly publicUrl: string;
};

/** A link, and when it ends. */
export type TimedLink = { readonly url: string; readonly until: Timestamp };

const SAME_MAIL_MS = 5 * 60_000;

/** The cause of a mail that a user asks for. The same for five minutes, in which asking again sends no second mail. */
export const causeAt = (now: number): string => `slot-${Math.floor(now / SAME_MAIL_MS)}`;
