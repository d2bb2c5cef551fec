import type { ApiKeyUsage } from '../../auth/api-key-usage.ts';
import type { User, Users } from '../../auth/users.ts';
import type { AuthorizationServer } from '../../authorization-server/authorization-server.ts';
import type { CommandContext } from '../../commands/command-handler.ts';
import type { Commands } from '../../commands/commands.ts';
import type { Account, AccountKind } from '../../domain/account.ts';
import type { Cents } from '../../domain/ids.ts';
import type { Html, Interpolated } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';
import type { Queries } from '../../queries/queries.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';

/** What pages show of this installation. */
export type Settings = {
  readonly publicUrl: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly serviceFeePercent: number;
  /** Approvals of a higher total must be confirmed. Undefined: none must. */
  readonly approveConfirmAbove: Cents | undefined;
};

/** The commands and queries that pages use. */
export type PageDeps = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly users: Pick<Users, 'get'>;
  readonly webhooks: Omit<Webhooks, 'start' | 'stop'>;
  readonly apiKeyUsage: Pick<ApiKeyUsage, 'lastUsed'>;
  readonly connectedApps: AuthorizationServer['connectedApps'];
  readonly clients: Pick<AuthorizationServer['clients'], 'addClient' | 'listClients' | 'removeClient'>;
  readonly settings: Settings;
};

/** The fields of a form or query string, as submitted. */
export class Form {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(fields: unknown) {
    this.#fields = typeof fields === 'object' && fields !== null ? { ...fields } : {};
  }

  /** The fields of a query string. */
  static ofQuery(query: string): Form {
    return new Form(Object.fromEntries(new URLSearchParams(query)));
  }

  /** The value of a field, trimmed; empty if absent. The first one if there are several. */
  text(name: string): string {
    return (this.all(name)[0] ?? '').trim();
  }

  /** The values of several fields. */
  texts<N extends string>(names: readonly N[]): Readonly<Record<N, string>>;
  texts(names: readonly string[]): Readonly<Record<string, string>> {
    return Object.fromEntries(names.map((name) => [name, this.text(name)]));
  }

  /** A text of several lines. */
  lines(name: string): string {
    return this.text(name).replaceAll('\r\n', '\n');
  }

  /** All values of a field, such as checkboxes that share a name. */
  all(name: string): readonly string[] {
    const value = this.#fields[name];
    const values = Array.isArray(value) ? value : [value];
    return values.filter((one) => typeof one === 'string');
  }

  /** A whole number, or NaN. */
  integer(name: string): number {
    return /^-?\d{1,15}$/.test(this.text(name)) ? Number(this.text(name)) : Number.NaN;
  }
}

/** A request from a signed-in user, for a page or with a form. */
export type Visit<A extends Account = Account> = {
  readonly user: User;
  /** The account that the user currently acts for. */
  readonly account: A;
  readonly accountName: string;
  /** The context of the commands that this request issues. */
  readonly context: CommandContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Form;
  /** The submitted form; empty for a GET. */
  readonly form: Form;
  /** A form of this page that was rejected because its session had ended. The page fills it in again. */
  readonly restored?: Form;
  /** The list or calendar that the reader came from, as a path with its query. Pages about one booking lead back there. */
  readonly via?: string;
  /** The CSRF token, which every form of the page must carry. */
  readonly csrf: string;
  readonly settings: Settings;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The reader's time zone, for moments that no space has a clock for; UTC if it is not known. */
  readonly zone: string;
};

/** The errors of a form by field; `''` holds the one that concerns the form as a whole. */
export type Problems = Readonly<Record<string, string>>;

export type Link = { readonly href: string; readonly label: Interpolated };

/** A page. */
export type Shown = {
  readonly title: string;
  /** Whether the number of pending requests stands before the title in the browser's tab. */
  readonly isCounted?: boolean;
  /** Default: the title. */
  readonly heading?: Interpolated;
  /** A sentence below the heading. */
  readonly lead?: Interpolated;
  /** The page that this one belongs to. */
  readonly back?: Link;
  /** Beside the heading. */
  readonly actions?: Interpolated;
  readonly main: Html;
  /** Listed below the heading. A page with problems has the status 422 unless `status` says otherwise. */
  readonly problems?: Problems;
  readonly status?: 200 | 404 | 409 | 503;
  readonly flash?: readonly Flash[];
};

/** A redirect (303) to another page, which shows the message once. */
type Redirect = { readonly go: string; readonly flash?: Flash };

/** Missing, or not visible to this user (404). */
export type Missing = { readonly missing: string };

export type Answer = Shown | Redirect | Missing;
export type Handler<A extends Account = Account> = (visit: Visit<A>) => Promise<Answer>;

export type AccountOf<K extends AccountKind> = Extract<Account, { kind: K }>;

/** Registers pages and the forms that they send. */
export type Routes<A extends Account = Account> = {
  get(path: string, handler: Handler<A>): void;
  /**
   * A form with the token of `onceField` takes effect once (docs/decisions/console.md).
   * @param repeated answers a form that is sent again long after it took effect. Default: a page that says so
   */
  post(path: string, handler: Handler<A>, repeated?: Handler<A>): void;
};

/** The routes of every account, and those that exist for one kind of account only. */
export type ConsoleRoutes = Routes & {
  readonly community: Routes<AccountOf<'Community'>>;
  readonly brand: Routes<AccountOf<'Brand'>>;
};

export const isOfKind = <K extends AccountKind>(visit: Visit, kind: K): visit is Visit<AccountOf<K>> =>
  visit.account.kind === kind;

export const missing = (what: string): Missing => ({ missing: what });

const goTo =
  (kind: Flash['kind']) =>
  (go: string, text: string): Redirect => ({ go, flash: { kind, text } });

/** Redirects to a page that says that something was done. */
export const done = goTo('done');
/** Redirects to a page that says why nothing was done. */
export const notDone = goTo('problem');
/** Redirects to a page that says that there was nothing to do. */
export const nothingToDo = goTo('notice');

/** An id from a URL; undefined if it cannot be one. */
export const idOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;

/** Handlers of pages about one thing, whose id is in their address. It is missing if the account may not see it. */
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

/** The problem of a list or calendar whose address names a space that the account does not have. */
export const NO_SUCH_SPACE = 'There is no such space any more. Choose another one, or all of them.';
