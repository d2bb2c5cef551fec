import type { User } from '../../auth/users.ts';
import type { CalendarEvent } from '../../contract/icalendar.ts';
import type { Account } from '../../domain/account.ts';
import type { NamedAddress } from '../../domain/email-address.ts';
import type { Subject } from '../../domain/personal-text.ts';
import type { Role } from '../../domain/roles.ts';
import type { AmountFormat } from '../../html/amounts.ts';
import type { Queries } from '../../queries/queries.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AccountContacts } from '../contacts.ts';
import type { Compose, Message } from '../new-mail.ts';
import type { MailPreferences } from '../preferences.ts';
import type { Unsubscribing } from '../unsubscribing.ts';
import type { MailText } from './layout.ts';

/** Why a mail is not sent. Holds no personal data, because it is stored. */
export type Skipped = { readonly skipped: string };

/** What one kind of mail says, without its frame. */
export type Written = Omit<MailText, 'footer' | 'footerLink'> &
  Partial<Pick<Message, 'replyTo'>> & {
    /** The events of its calendar file. It has none without events. */
    readonly calendar?: readonly CalendarEvent[];
  };

/** A user who gets a mail. */
export type MailedUser = Pick<User, 'email' | 'memberships'>;

/** The reader of a mail: a member of an account. */
export type Reader = {
  readonly account: Account;
  readonly accountName: string;
  readonly role: Role;
  /** Formats amounts. Undefined if the role does not show them. */
  readonly amount: AmountFormat | undefined;
};

export type ComposeDeps = {
  readonly queries: Pick<
    Queries,
    | 'accounts'
    | 'apiKeys'
    | 'bookingHistory'
    | 'bookings'
    | 'descriptions'
    | 'questions'
    | 'reviews'
    | 'spaces'
    | 'threads'
    | 'webhooks'
  >;
  /** Undefined if the user was removed. */
  readonly user: (userId: string) => Promise<MailedUser | undefined>;
  readonly isForgotten: (subject: Subject) => Promise<boolean>;
  readonly preferences: Pick<MailPreferences, 'get'>;
  readonly contacts: Pick<AccountContacts, 'of'>;
  /** How the last attempt to reach the endpoint of a webhook failed: with a delivery of this event, or with any. */
  readonly lastErrorOf: (webhookId: string, eventId: string | undefined) => Promise<string | undefined>;
  readonly unsubscribing: Pick<Unsubscribing, 'url'>;
  readonly publicUrl: string;
  /** The id of the log, for the ids of calendar events. */
  readonly logId: string;
  /** Who mails come from. */
  readonly sender: NamedAddress;
  readonly clock: Clock;
  /** Composes the kinds that carry a link: invitations and the like. */
  readonly links: Compose;
};
