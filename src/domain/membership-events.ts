import type { Account } from './account.ts';
import type { Role } from './roles.ts';

/**
 * Shared by all events about members, their apps and an account's own clients. They record changes to records, which hold the
 * credentials; they contain no name or e-mail address (docs/decisions/accounts.md).
 */
type MembershipChange = {
  /** The change to the record. Recorded once, even if several processes take up unfinished work. */
  readonly changeId: string;
  readonly account: Account;
};
type OfUser = MembershipChange & { readonly userId: string };
type OfApp = OfUser & { readonly clientId: string; readonly grantId: string };
type OfClient = MembershipChange & { readonly clientId: string };
type OfInvitation = MembershipChange & { readonly invitationId: string };

export type MembershipEvents = {
  /** A user may act for the account from now on: as a new user, or as one of another account. */
  MemberAdded: OfUser & { readonly role: Role };
  /** What a user may do for the account changed. */
  MemberRoleChanged: OfUser & { readonly role: Role };
  /** A user may not act for the account any more. A user who is removed leaves every account. */
  MemberRemoved: OfUser;
  /** A user's password changed. One event per account, so that the history of each is complete. */
  PasswordChanged: OfUser;
  /** A user's address changed, once the new one was confirmed. One event per account, as for a password. */
  EmailChanged: OfUser;
  /** A user allowed an app to act for the account, or granted it more scopes. */
  AppConnected: OfApp & { readonly scopes: readonly string[] };
  /** An app's grant ended early. */
  AppDisconnected: OfApp;
  /** An OAuth client of the account's own, which acts for it without a user. Its name is the account's, like the label of an API key. */
  ClientAdded: OfClient & { readonly name: string };
  ClientRemoved: OfClient;
  /** A person may become a member by accepting. The address is in the record of the invitation alone, which ends with it. */
  MemberInvited: OfInvitation & { readonly role: Role };
  /** The invitation can no longer be accepted. */
  InvitationWithdrawn: OfInvitation;
};
