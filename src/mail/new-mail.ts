import type { AccountKey } from '../domain/account.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { MailKind } from './kinds.ts';

/** A mail that is to be sent. It has only ids: address and text are looked up when it is sent, so that erased texts read as erased. */
export type NewMail = {
  readonly kind: MailKind;
  /**
   * What led to it: the id of an event, `booking-17` for a reminder, the id of an invitation. With kind and user it makes the id of the
   * mail, so that the same cause never makes a second one.
   */
  readonly cause: string;
  /** The user who gets it; for an invitation its id, `inv_…`, and for a sign-up `sgn_…`. */
  readonly userId: string;
  /** The account for which the user gets it. Its Managers see whether it failed. */
  readonly account?: AccountKey;
  /** The ids of what it is about. */
  readonly about: Readonly<Record<string, string | number>>;
  /** When that happened. A mail older than a day is not sent. */
  readonly at: Timestamp;
};

/** A mail with its address and text. */
export type Message = {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly replyTo?: string;
  /** Where the reader turns such mail off, with one click and without a session. Absent if it is always sent. */
  readonly unsubscribeUrl?: string;
  /** The text of an .ics file. */
  readonly calendar?: string;
};

/**
 * Makes the message of a mail at the moment of sending. `skipped` says why it is not sent, without personal data: the user was removed, or
 * has turned it off meanwhile.
 * @param others further mails about bookings to the same user, which go out with it as a digest
 * @throws {Unavailable} if something cannot be read now; the mail is tried again
 */
export type Compose = (mail: NewMail, others?: readonly NewMail[]) => Promise<Message | { readonly skipped: string }>;
