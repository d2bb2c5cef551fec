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

  /** A password as typed: blanks at its ends belong to it. */
  password(name = 'password'): string {
    return this.all(name)[0] ?? '';
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

  /** The content of an uploaded file; undefined if none was chosen. */
  file(name: string): Uint8Array | undefined {
    const value = this.#fields[name];
    return value instanceof Uint8Array && value.length > 0 ? value : undefined;
  }

  /** The contents of several files under one name, empty ones included. */
  files(name: string): readonly Uint8Array[] {
    const value = this.#fields[name];
    return (Array.isArray(value) ? value : [value]).filter((one) => one instanceof Uint8Array);
  }

  /** A whole number, or NaN. */
  integer(name: string): number {
    return /^-?\d{1,15}$/.test(this.text(name)) ? Number(this.text(name)) : Number.NaN;
  }
}

/** An id from a URL; undefined if it cannot be one. */
export const idOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined;

/** A number that is an id or 0, such as an hour; undefined if it cannot be one. */
export const idOrZero = (text: string): number | undefined => (text === '0' ? 0 : idOf(text));

/** The errors of a form by field; `''` holds the one that concerns the form as a whole. */
export type Problems = Readonly<Record<string, string>>;

/** The problem of a list or calendar whose address names a space that is not the account's. */
export const NO_SUCH_SPACE = 'There is no such space any more. Choose another one, or all of them.';
