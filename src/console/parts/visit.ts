import type { User } from '../../auth/users.ts';
import type { CommandContext } from '../../commands/command-handler.ts';
import type { Account, AccountKind } from '../../domain/account.ts';
import type { Cents } from '../../domain/ids.ts';
import { isAtLeast, type LeastRole, type Role } from '../../domain/roles.ts';
import type { AmountFormat } from '../../html/amounts.ts';
import type { Form } from './typed-form.ts';

/** Settings of this installation that pages show or apply. */
export type Settings = {
  readonly publicUrl: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly serviceFeePercent: number;
  /** Approvals of a higher total must be confirmed. Undefined: none must. */
  readonly approveConfirmAbove: Cents | undefined;
  /** Who may sign up without an invitation. Undefined: none. */
  readonly signUp: 'brands' | undefined;
};

/** A request from a signed-in user, for a page or with a form. */
export type Visit<A extends Account = Account> = {
  readonly user: User;
  /** The digest of the session's id. */
  readonly session: string;
  /** The network address of the browser, for limits. */
  readonly clientAddress: string;
  /** The account that the user currently acts for. */
  readonly account: A;
  /** The user's role in the account. */
  readonly role: Role;
  /** Formats amounts. Undefined if the role does not show them. Pages have no other way to format one. */
  readonly amount: AmountFormat | undefined;
  readonly accountName: string;
  /** The time zone of a community, on whose pages all times are in it. For a brand, that of the reader. */
  readonly accountZone: string;
  /** The context of the commands that this request issues. */
  readonly context: CommandContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Form;
  /** The submitted form; empty for a GET. */
  readonly form: Form;
  /** A form of this page that was rejected because its session had ended. The page fills it in again. */
  readonly restored?: Form;
  /** The list or calendar that the reader came from, as a path with its query. The pages opened from it lead back there. */
  readonly via?: string;
  /** The CSRF token, which every form of the page must carry. */
  readonly csrf: string;
  readonly settings: Settings;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The reader's time zone, for moments that belong to no space. If it is not known: that of the community, or UTC for a brand. */
  readonly zone: string;
};

/** Whether the user's role allows what is declared for `least`. */
export const may = ({ role }: Pick<Visit, 'role'>, least: LeastRole): boolean => isAtLeast(role, least);

/** A user who sees amounts. */
export type AmountVisit<A extends Account = Account> = Visit<A> & { readonly amount: AmountFormat };

export type { AmountFormat };

export type AccountOf<K extends AccountKind> = Extract<Account, { kind: K }>;

export type CommunityVisit = Visit<AccountOf<'Community'>>;
export type BrandVisit = Visit<AccountOf<'Brand'>>;
