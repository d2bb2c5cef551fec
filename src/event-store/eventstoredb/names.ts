export type NamesOptions = {
  /** What streams, groups and event types begin with on the server, before a full stop. Default: nothing. */
  readonly prefix?: string;
  /** The kinds of streams there are: the names up to the first hyphen. Default: all. */
  readonly kinds?: readonly string[];
  /** What kinds look like that only later releases have. Default: nothing. */
  readonly laterKinds?: RegExp;
};

/**
 * How streams, groups and event types are called on the server, which other stores and other applications may share. What is ours
 * is told by the name of its stream, never by the type of the event alone (docs/decisions/eventstoredb.md).
 */
export class Names {
  readonly #prefix: string;
  readonly #kinds: ReadonlySet<string> | undefined;
  readonly #laterKinds: RegExp | undefined;

  constructor({ prefix, kinds, laterKinds }: NamesOptions) {
    this.#prefix = prefix === undefined ? '' : `${prefix}.`;
    this.#kinds = kinds === undefined ? undefined : new Set(kinds);
    this.#laterKinds = laterKinds;
  }

  /** The name on the server of a stream, a group or an event type. */
  onServer(name: string): string {
    return `${this.#prefix}${name}`;
  }

  /** Our name of a stream on the server; undefined if it is not ours. */
  stream(onServer: string): string | undefined {
    if (!onServer.startsWith(this.#prefix)) return undefined;
    const name = onServer.slice(this.#prefix.length);
    const [kind = ''] = name.split('-', 1);
    return this.#kinds === undefined || this.#kinds.has(kind) || this.#laterKinds?.test(kind) ? name : undefined;
  }

  /** Our name of an event type on the server; undefined if it is not ours, as those of the server itself (`$…`). */
  type(onServer: string): string | undefined {
    if (!onServer.startsWith(this.#prefix)) return undefined;
    const type = onServer.slice(this.#prefix.length);
    return type === '' || type.startsWith('$') ? undefined : type;
  }

  /** A regular expression with which the server picks the events of these types, or of all of ours. */
  filter(types: readonly string[] | undefined): string {
    const prefix = escaped(this.#prefix);
    return types === undefined ? `^${prefix}[^$]` : `^${prefix}(${types.map(escaped).join('|')})$`;
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
