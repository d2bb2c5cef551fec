import type { User } from '../../auth/users.ts';
import type { CommandContext } from '../../commands/command-handler.ts';
import type { Account, AccountKind } from '../../domain/account.ts';
import type { Html } from '../../html/html.ts';
import type { Flash } from '../../html/layout.ts';

/** The fields of a form or query string, as submitted. */
export class Form {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(fields: unknown) {
    this.#fields = typeof fields === 'object' && fields !== null ? { ...fields } : {};
  }

  /** The value of a field, trimmed; empty if absent. The first one if there are several. */
  text(name: string): string {
    return (this.all(name)[0] ?? '').trim();
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
export type Visit = {
  readonly user: User;
  /** The account that the user currently acts for. */
  readonly account: Account;
  readonly accountName: string;
  /** The context of the commands that this request issues. */
  readonly context: CommandContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Form;
  /** The submitted form; empty for a GET. */
  readonly form: Form;
  /** A form of this page that came when its session had ended: what was typed is to be filled in again. */
  readonly kept?: Form;
  /** The CSRF token, which every form of the page must carry. */
  readonly csrf: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The reader's time zone, for moments that no space has a clock for; UTC if it is not known. */
  readonly zone: string;
  /**
   * Runs an action once per form, however often the form is submitted; a repeat gets the first answer. The form must carry the
   * token of {@link onceField} (docs/decisions/console.md).
   * @param repeated answers a repeat long after. Default: a page that says that nothing was done this time
   */
  once(action: () => Promise<Answer>, repeated?: () => Promise<Answer>): Promise<Answer>;
};

/** The navigation entry that a page belongs to. */
export type Section =
  | 'inbox'
  | 'calendar'
  | 'bookings'
  | 'find'
  | 'spaces'
  | 'reviews'
  | 'charges'
  | 'history'
  | 'keys'
  | 'webhooks'
  | 'apps'
  | 'clients';

/** A page. 422 if it redisplays a form with errors. */
export type Shown = {
  readonly title: string;
  readonly main: Html;
  readonly section?: Section;
  readonly status?: 200 | 404 | 409 | 422 | 503;
  readonly flash?: readonly Flash[];
};

/** A redirect (303) to another page, which shows the message once. */
type Redirect = { readonly go: string; readonly flash?: Flash };

/** Does not exist, or not for this user (404). */
export type Missing = { readonly missing: string };

export type Answer = Shown | Redirect | Missing;
export type Handler = (visit: Visit) => Promise<Answer>;

/** Registers pages. With `only`, a page does not exist for the other kind of account. */
export type Routes = {
  get(path: string, handler: Handler, only?: AccountKind): void;
  post(path: string, handler: Handler, only?: AccountKind): void;
};

export const missing = (what: string): Missing => ({ missing: what });

/** An id from a URL; undefined if it cannot be one. */
export const idOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
