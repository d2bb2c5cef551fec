import type { AccountKind } from '../domain/account.ts';
import { keysOf } from '../domain/keys-of.ts';
import type { Role } from '../domain/roles.ts';
import type { MailKind } from './new-mail.ts';

type Kind = {
  readonly label: string;
  /** What leads to it, for each kind of account whose members get it. */
  readonly when: { readonly [K in AccountKind]?: string };
  /** The roles that may get it. */
  readonly roles: readonly Role[];
};

const ALL: readonly Role[] = ['Manager', 'Coordinator', 'Viewer'];
const DECIDE: readonly Role[] = ['Manager', 'Coordinator'];
const MANAGERS: readonly Role[] = ['Manager'];

const CHOSEN = {
  BookingRequested: {
    label: 'New requests',
    when: { Community: 'A brand requests one of your spaces.' },
    roles: ALL,
  },
  AnswerDue: {
    label: 'Answer soon',
    when: { Community: 'A request will expire soon: once, when a quarter of its time is left, at most a day.' },
    roles: DECIDE,
  },
  BookingApproved: {
    label: 'Approvals',
    when: { Brand: 'A community approves your request. A calendar file comes with it.' },
    roles: ALL,
  },
  BookingDeclined: {
    label: 'Declined requests',
    when: { Brand: 'A community declines your request.' },
    roles: ALL,
  },
  BookingCancelled: {
    label: 'Cancellations',
    when: {
      Community: 'A brand withdraws a request or cancels a booking, or a colleague of yours cancels one.',
      Brand: 'A community cancels a booking, or a colleague of yours withdraws a request or cancels a booking.',
    },
    roles: ALL,
  },
  BookingExpired: {
    label: 'Expired requests',
    when: {
      Community: 'A request expires because it was not answered in time.',
      Brand: 'Your request expires because it was not answered in time.',
    },
    roles: ALL,
  },
  ReviewPublished: {
    label: 'Reviews',
    when: { Community: 'A brand reviews one of your spaces.' },
    roles: ALL,
  },
  EventTomorrow: {
    label: 'Events tomorrow',
    when: {
      Community: 'An approved event takes place the next day. Sent at 08:00 by the clock of the space.',
      Brand: 'Your approved event takes place the next day. Sent at 08:00 by the clock of the space.',
    },
    roles: ALL,
  },
} satisfies { readonly [K in MailKind]?: Kind };

const ALWAYS = {
  WebhookDisabled: {
    label: 'Disabled webhooks',
    when: {
      Community: 'A webhook of the account is disabled, for example because its receiver does not answer.',
      Brand: 'A webhook of the account is disabled, for example because its receiver does not answer.',
    },
    roles: MANAGERS,
  },
  ApiKeyIssued: {
    label: 'New API keys',
    when: { Community: 'An API key of the account is issued.', Brand: 'An API key of the account is issued.' },
    roles: MANAGERS,
  },
  RoleChanged: {
    label: 'Your role',
    when: { Community: 'Your role in the account changes.', Brand: 'Your role in the account changes.' },
    roles: ALL,
  },
  PasswordChanged: {
    label: 'Your password',
    when: { Community: 'Your password changes.', Brand: 'Your password changes.' },
    roles: ALL,
  },
} satisfies { readonly [K in MailKind]?: Kind };

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

/** What is the same for all mails of a kind. */
export const kindOf = (kind: ChosenKind | AlwaysKind): Kind => (isChosen(kind) ? CHOSEN[kind] : ALWAYS[kind]);

/** Whether a member of such an account with this role may get mails of a kind. */
export function mayGet(kind: ChosenKind | AlwaysKind, account: AccountKind, role: Role): boolean {
  const { when, roles } = kindOf(kind);
  return when[account] !== undefined && roles.includes(role);
}

/** A Viewer, who may only read, gets what the Viewer has turned on; the others get all but what they have turned off. */
export const isOnByDefault = (role: Role): boolean => role !== 'Viewer';
