import type { AddressConfirmation } from '../../auth/address-confirmation.ts';
import type { ApiKeyUsage } from '../../auth/api-key-usage.ts';
import type { Invitations } from '../../auth/invitations.ts';
import type { User, Users } from '../../auth/users.ts';
import type { AuthorizationServer } from '../../authorization-server/authorization-server.ts';
import type { Commands } from '../../commands/commands.ts';
import type { Account, AccountKind } from '../../domain/account.ts';
import type { Refusal } from '../../domain/decision.ts';
import type { Role } from '../../domain/roles.ts';
import type { ContactConfirmation } from '../../mail/contact-confirmation.ts';
import type { Mail } from '../../mail/mail.ts';
import type { MailContent } from '../../mail/mail-content.ts';
import type { Queries } from '../../queries/queries.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import { type Answer, missing } from './answer.ts';
import { idOf } from './typed-form.ts';
import type { AccountOf, Settings, Visit } from './visit.ts';

/** The commands and queries that pages use. */
export type PageDeps = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly users: Pick<Users, 'get' | 'membersOf' | 'verifyPassword' | 'changePassword' | 'setRole' | 'removeMember'>;
  readonly addressConfirmation: AddressConfirmation;
  readonly contactConfirmation: ContactConfirmation;
  readonly invitations: Invitations;
  readonly sessions: UserSessions;
  readonly checkedFiles: CheckedFiles;
  readonly signInAttempts: AuthorizationServer['signInAttempts'];
  readonly endSessionsOf: AuthorizationServer['endSessionsOf'];
  readonly webhooks: Omit<Webhooks, 'start' | 'stop'>;
  readonly mail: Pick<Mail, 'isConfigured' | 'list' | 'resend'>;
  readonly apiKeyUsage: Pick<ApiKeyUsage, 'lastUsed'>;
  readonly connectedApps: AuthorizationServer['connectedApps'];
  readonly clients: Pick<AuthorizationServer['clients'], 'addClient' | 'listClients' | 'removeClient'>;
  readonly mailContent: Pick<MailContent, 'preferences' | 'contacts' | 'unsubscribing'>;
  readonly settings: Settings;
};

export type UserSession = {
  readonly hash: string;
  /** Such as `Firefox on Linux`. */
  readonly browser: string;
  readonly startedAt: string;
  /** Noted once an hour. */
  readonly lastUsedAt: string;
};

/** The sessions of a user in the console. */
type UserSessions = {
  listOf(user: User): Promise<readonly UserSession[]>;
  endOf(user: User, hash: string): Promise<boolean>;
};

/** Whose file it is: that of a session, for the account that the user acts for. */
export type FileOwner = Pick<Visit, 'session' | 'account' | 'user'>;

/** Keeps a file between its check and its confirmation. */
type CheckedFiles = {
  keep(owner: FileOwner, text: string): Promise<string | Refusal>;
  get(owner: FileOwner, id: string): Promise<string | undefined>;
  delete(owner: FileOwner): Promise<void>;
};

export type Handler<A extends Account = Account> = (visit: Visit<A>) => Promise<Answer>;

/**
 * Registers pages and the forms that they send. Each declares the least role that may open or send it; `test/console/roles.test.ts` tries
 * them all.
 */
export type Routes<A extends Account = Account> = {
  get(path: string, least: Role, handler: Handler<A>): void;
  /**
   * A form with the token of `onceField` takes effect once (docs/decisions/console.md).
   * @param repeated answers a form that is sent again long after it took effect. Default: a page that says so
   */
  post(path: string, least: Role, handler: Handler<A>, repeated?: Handler<A>): void;
  /** A form that may carry a file ({@link MAX_FILE_BYTES}). */
  upload(path: string, least: Role, handler: Handler<A>): void;
};

/** Bytes of a file that a form carries. */
export const MAX_FILE_BYTES = 1_000_000;

/** The routes of every account, and those that exist for one kind of account only. */
export type ConsoleRoutes = Routes & {
  readonly community: Routes<AccountOf<'Community'>>;
  readonly brand: Routes<AccountOf<'Brand'>>;
};

export const isOfKind = <K extends AccountKind>(visit: Visit, kind: K): visit is Visit<AccountOf<K>> =>
  visit.account.kind === kind;

/** Wrap handlers of pages about one thing, whose id is in the address. They answer `missing` if the account may not see it. */
export const handlersFor = ({ bookings, spaces, webhooks }: Pick<Queries, 'bookings' | 'spaces' | 'webhooks'>) => ({
  withBooking: about('booking', withNumber(bookings.get)),
  withSpace: about('space', withNumber(spaces.get)),
  withWebhook: about('webhook', webhooks.get),
});

type Get<I, T> = (account: Account, id: I) => Promise<T | undefined>;

const withNumber =
  <T>(get: Get<number, T>): Get<string, T> =>
  async (account, text) => {
    const id = idOf(text);
    return id === undefined ? undefined : get(account, id);
  };

const about =
  <T>(what: string, get: Get<string, T>) =>
  <A extends Account>(handler: (visit: Visit<A>, one: T) => Promise<Answer>): Handler<A> =>
  async (visit) => {
    const one = await get(visit.account, visit.params.id ?? '');
    return one === undefined ? missing(what) : handler(visit, one);
  };
