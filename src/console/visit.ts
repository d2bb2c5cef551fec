import type { User } from '../auth/users.ts';
import type { CommandContext } from '../commands/command-handler.ts';
import type { Account, AccountKind } from '../domain/account.ts';
import type { Html } from '../html/html.ts';
import type { Flash } from '../html/layout.ts';

/** The fields of a form or of a query, as they were sent. */
export class Form {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(fields: unknown) {
    this.#fields = typeof fields === 'object' && fields !== null ? { ...fields } : {};
  }

  /** What stands in a field, without white space around it; empty when it is absent. Of several values the first. */
  text(name: string): string {
    return (this.all(name)[0] ?? '').trim();
  }

  /** Every value of a field, such as check boxes of one name. */
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

/** Somebody who is signed in asks for a page, or sends a form. */
export type Visit = {
  readonly user: User;
  /** The account the visitor acts for at present. */
  readonly account: Account;
  readonly accountName: string;
  /** Who does it, as the log names it. */
  readonly context: CommandContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Form;
  /** What was sent; empty for a page that is only looked at. */
  readonly form: Form;
  /** Goes into every form of the page, and says that the form came from us. */
  readonly csrf: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /**
   * Does once what a form asks for, however often the form is sent; a second time answers what the first did. The form carries
   * the token that {@link onceField} made.
   */
  once(action: () => Promise<Answer>): Promise<Answer>;
};

/** Which entry of the rail a page belongs to. */
export type Section =
  | 'inbox'
  | 'calendar'
  | 'bookings'
  | 'find'
  | 'spaces'
  | 'reviews'
  | 'charges'
  | 'keys'
  | 'webhooks'
  | 'apps'
  | 'clients';

/** A page. 422 when it shows a form again with what is wrong. */
export type Shown = {
  readonly title: string;
  readonly main: Html;
  readonly section?: Section;
  readonly status?: 200 | 409 | 422;
  readonly flash?: readonly Flash[];
};

/** On to another page (303), where the message is shown once. */
type Redirect = { readonly go: string; readonly flash?: Flash };

/** There is no such thing, or not for this visitor (404). */
export type Missing = { readonly missing: string };

export type Answer = Shown | Redirect | Missing;
export type Handler = (visit: Visit) => Promise<Answer>;

/** The pages of one part of the console. A page for one kind of account does not exist for the other. */
export type Routes = {
  get(path: string, handler: Handler, only?: AccountKind): void;
  post(path: string, handler: Handler, only?: AccountKind): void;
};

export const missing = (what: string): Missing => ({ missing: what });

/** An id out of an address, or undefined when it cannot be one. */
export const idOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;
