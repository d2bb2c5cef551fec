import type { AccountKind } from '../domain/account.ts';
import { keysOf } from '../domain/keys-of.ts';
import { isAtLeast, type LeastRole, type Role } from '../domain/roles.ts';

/** What is the same for all mails of a kind. */
type Kind = {
  readonly label: string;
  /** What leads to it, for each kind of account whose members get it. */
  readonly when: { readonly [K in AccountKind]?: string };
  /** The least role that may get it. Absent: it goes to one person, member or not. */
  readonly least?: LeastRole;
};

/** What leads to it, for members of both kinds of accounts. */
const both = (when: string): Kind['when'] => ({ Community: when, Brand: when });

const CHOSEN = {
  BookingRequested: {
    label: 'New request',
    when: {
      Community: 'A brand requests one of your spaces.',
      Brand: 'You request a space yourself: a receipt, which says until when it is answered.',
    },
    least: 'Viewer',
  },
  AnswerDue: {
    label: 'Answer soon',
    when: { Community: 'A request will expire soon: once, when a quarter of its time is left, at most a day.' },
    least: 'Coordinator',
  },
  BookingApproved: {
    label: 'Approval',
    when: { Brand: 'A community approves your request. A calendar file comes with it.' },
    least: 'Viewer',
  },
  BookingDeclined: {
    label: 'Declined request',
    when: { Brand: 'A community declines your request.' },
    least: 'Viewer',
  },
  BookingCancelled: {
    label: 'Cancellation',
    when: {
      Community: 'A brand withdraws a request or cancels a booking, or a colleague of yours cancels one.',
      Brand: 'A community cancels a booking, or a colleague of yours withdraws a request or cancels a booking.',
    },
    least: 'Viewer',
  },
  BookingExpired: {
    label: 'Expired request',
    when: {
      Community: 'A request expires because it was not answered in time.',
      Brand: 'Your request expires because it was not answered in time.',
    },
    least: 'Viewer',
  },
  Message: {
    label: 'Message',
    when: both('The other party writes to you about a booking or a space. You answer in the console.'),
    least: 'Viewer',
  },
  BookingMoveAsked: {
    label: 'Move to answer',
    when: both('The other party asks to move a booking to another day, hour or space.'),
    least: 'Viewer',
  },
  BookingMoveEnded: {
    label: 'Declined move',
    when: both('The other party declines a move or takes it back, or its hours are not free any more.'),
    least: 'Viewer',
  },
  BookingMoved: {
    label: 'Move',
    when: both('A booking is moved. If it was approved before, a calendar file comes with it.'),
    least: 'Viewer',
  },
  ReviewPublished: {
    label: 'New review',
    when: { Community: 'A brand reviews one of your spaces.' },
    least: 'Viewer',
  },
  EventTomorrow: {
    label: 'Event tomorrow',
    when: {
      Community:
        'Approved events take place the next day: one mail with all of them, at 08:00 by the clock of the space.',
      Brand:
        'Approved events of yours take place the next day: one mail with all of them, at 08:00 by the clock of the space.',
    },
    least: 'Viewer',
  },
} satisfies Readonly<Record<string, Kind>>;

const ALWAYS = {
  WebhookDisabled: {
    label: 'Disabled webhook',
    when: both('A webhook of the account is disabled, for example because its receiver does not answer.'),
    least: 'Manager',
  },
  ApiKeyIssued: {
    label: 'New API key',
    when: both('An API key of the account is issued.'),
    least: 'Manager',
  },
  RoleChanged: {
    label: 'Changed role',
    when: both('Your role in the account changes.'),
    least: 'Viewer',
  },
  PasswordChanged: {
    label: 'Changed password',
    when: both('Your password changes.'),
    least: 'Viewer',
  },
} satisfies Readonly<Record<string, Kind>>;

const LINKS = {
  SignUp: { label: 'Sign-up', when: { Brand: 'You sign up: a link that confirms your address.' } },
  Invitation: { label: 'Invitation', when: both('You are invited to the account.') },
  PasswordReset: { label: 'Password reset', when: both('You forgot your password.') },
  AddressConfirmation: {
    label: 'Confirmation of an address',
    when: both('You change your address: a link to the new one, a warning to the old one.'),
  },
  ContactConfirmation: {
    label: 'Confirmation of a contact address',
    when: both('A Manager changes the contact address of the account: a link to the new one.'),
  },
} satisfies Readonly<Record<string, Kind>>;

/** Every kind of mail: the settings page, the lists of mails, the guide and the choice of readers follow from it. */
export const KINDS = { ...CHOSEN, ...ALWAYS, ...LINKS } as const;
export type MailKind = keyof typeof KINDS;

/** A kind that each user turns on or off, for an account or one of its spaces. */
export type ChosenKind = keyof typeof CHOSEN;
/** A kind about the security of an account or its connections, which is always sent. */
export type AlwaysKind = keyof typeof ALWAYS;

export const CHOSEN_KINDS: readonly ChosenKind[] = keysOf(CHOSEN);
export const ALWAYS_KINDS: readonly AlwaysKind[] = keysOf(ALWAYS);

const isIn = <K extends string>(kinds: { readonly [N in K]: Kind }, kind: string): kind is K =>
  Object.hasOwn(kinds, kind);

export const isChosen = (kind: string): kind is ChosenKind => isIn(CHOSEN, kind);
export const isAlways = (kind: string): kind is AlwaysKind => isIn(ALWAYS, kind);

/** Whether mail of a kind is about the security of a sign-in or an account, and goes out before all other mail. */
export const isUrgent = (kind: MailKind): boolean =>
  isIn(LINKS, kind) || (isIn(ALWAYS, kind) && kind !== 'WebhookDisabled');

/** Whether a user gets a limited number of them in an hour, and then a digest. Reminders of tomorrow are one a day. */
export const isLimited = (kind: MailKind): boolean => isIn(CHOSEN, kind) && kind !== 'EventTomorrow';

/** The name of a kind. A mail of a later release may have one that this release does not know. */
export const labelOf = (kind: string): string => (isIn(KINDS, kind) ? KINDS[kind].label : kind);

/** What leads to mails of a kind for the members of such an account; empty: they get none. */
export const whenOf = (kind: MailKind, account: AccountKind): string => kindOf(kind).when[account] ?? '';

const kindOf = (kind: MailKind): Kind => KINDS[kind];

/** Whether a member of such an account with this role may get mails of a kind. */
export function mayGet(kind: ChosenKind | AlwaysKind, account: AccountKind, role: Role): boolean {
  const { when, least } = kindOf(kind);
  return when[account] !== undefined && least !== undefined && isAtLeast(role, least);
}

/** A Viewer, who may only read, gets what the Viewer has turned on; the others get all but what they have turned off. */
export const isOnByDefault = (role: Role): boolean => isAtLeast(role, 'Coordinator');
