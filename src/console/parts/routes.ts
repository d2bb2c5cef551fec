import type { AddressConfirmation } from '../../auth/address-confirmation.ts';
import type { ApiKeyUsage } from '../../auth/api-key-usage.ts';
import type { Invitations } from '../../auth/invitations.ts';
import type { User, Users } from '../../auth/users.ts';
import type { AuthorizationServer } from '../../authorization-server/authorization-server.ts';
import type { Commands } from '../../commands/commands.ts';
import type { Account, AccountKind } from '../../domain/account.ts';
import type { Refusal } from '../../domain/decision.ts';
import type { PlainDate, SpaceId } from '../../domain/ids.ts';
import type { LeastRole } from '../../domain/roles.ts';
import type { Space } from '../../domain/space.ts';
import type { ContactConfirmation } from '../../mail/contact-confirmation.ts';
import type { Mail } from '../../mail/mail.ts';
import type { MailContent } from '../../mail/mail-content.ts';
import type { Queries } from '../../queries/queries.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import { type Answer, forbidden, missing } from './answer.ts';
import { idOf } from './typed-form.ts';
import type { AccountOf, AmountVisit, Settings, Visit } from './visit.ts';

/** The commands and queries that pages use. */
export type PageDeps = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly users: Pick<
    Users,
    'get' | 'membersOf' | 'verifyPassword' | 'changePassword' | 'setRole' | 'removeMember' | 'shortlist'
  >;
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
  /** On which days public pages were opened, and how often, the latest first. */
  readonly pageViews: {
    inLast30Days(
      spaces: readonly Space[],
    ): Promise<ReadonlyMap<SpaceId, readonly { readonly date: PlainDate; readonly count: number }[]>>;
  };
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
  get(path: string, least: LeastRole, handler: Handler<A>): void;
  /**
   * A form with the token of `onceField` takes effect once (docs/decisions/console.md).
   * @param repeated answers a form that is sent again long after it took effect. Default: a page that says so
   */
  post(path: string, least: LeastRole, handler: Handler<A>, repeated?: Handler<A>): void;
  /** A form that may carry files. */
  upload(path: string, least: LeastRole, handler: Handler<A>): void;
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

/** The handler of a page that is about amounts alone. Refuses members who do not see them. */
export const aboutAmounts =
  (handler: (visit: AmountVisit) => Promise<Answer>): Handler =>
  async ({ amount, ...visit }) =>
    amount === undefined ? forbidden('amounts') : handler({ ...visit, amount });

/** Registers pages and forms about one thing, whose id is in the address. They answer `missing` if the account may not see it. */
export function routesAbout<T, A extends Account>(
  { get, post, upload }: Routes<A>,
  what: string,
  find: (visit: Visit<A>, id: string) => Promise<T | undefined>,
) {
  type About = (visit: Visit<A>, one: T) => Promise<Answer> | Answer;
  const about =
    (handler: About): Handler<A> =>
    async (visit) => {
      const one = await find(visit, visit.params.id ?? '');
      return one === undefined ? missing(what) : handler(visit, one);
    };
  return {
    get: (path: string, least: LeastRole, handler: About) => get(path, least, about(handler)),
    post: (path: string, least: LeastRole, handler: About) => post(path, least, about(handler)),
    upload: (path: string, least: LeastRole, handler: About) => upload(path, least, about(handler)),
  };
}

/** The same for bookings. */
export const bookingRoutes = <A extends Account>(routes: Routes<A>, { bookings }: Pick<Queries, 'bookings'>) =>
  routesAbout(routes, 'booking', ({ account }, id) => withNumber(bookings.get, account, id));

/** The same for spaces. */
export const spaceRoutes = <A extends Account>(routes: Routes<A>, { spaces }: Pick<Queries, 'spaces'>) =>
  routesAbout(routes, 'space', ({ account }, id) => withNumber(spaces.get, account, id));

/** The same for webhooks. */
export const webhookRoutes = <A extends Account>(routes: Routes<A>, { webhooks }: Pick<Queries, 'webhooks'>) =>
  routesAbout(routes, 'webhook', ({ account }, id) => webhooks.get(account, id));

/** What an account may see under the number in an address or a field. Undefined if the text is none. */
export async function withNumber<T>(
  get: (account: Account, id: number) => Promise<T | undefined>,
  account: Account,
  text: string,
): Promise<T | undefined> {
  const id = idOf(text);
  return id === undefined ? undefined : get(account, id);
}
