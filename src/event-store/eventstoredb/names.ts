export type NamesOptions = {
  /** The prefix of streams, groups and event types on the server, before a full stop. Default: none. */
  readonly prefix?: string;
  /** The kinds of streams: their names up to the first hyphen. Default: all. */
  readonly kinds?: readonly string[];
  /** Matches kinds of later releases. Default: none. */
  readonly laterKinds?: RegExp;
};

/**
 * Maps the names of streams, groups and event types to those on the server, which other stores and applications may share. The
 * stream name identifies our events; the event type alone does not (docs/decisions/eventstoredb.md).
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

  /** Our name of an event type on the server; undefined if it is not ours, such as system events (`$…`). */
  type(onServer: string): string | undefined {
    if (!onServer.startsWith(this.#prefix)) return undefined;
    const type = onServer.slice(this.#prefix.length);
    return type === '' || type.startsWith('$') ? undefined : type;
  }

  /** The server-side filter for events of these types, or for all of ours. */
  filter(types: readonly string[] | undefined): string {
    const prefix = escaped(this.#prefix);
    return types === undefined ? `^${prefix}[^$]` : `^${prefix}(${types.map(escaped).join('|')})$`;
  }
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
