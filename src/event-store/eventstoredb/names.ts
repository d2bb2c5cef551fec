export type NamesOptions = {
  /** The prefix of streams, groups and event types on the server, before a full stop. Default: none. */
  readonly prefix?: string;
  /** The kinds of streams: their names up to the first hyphen. Default: all. */
  readonly kinds?: readonly string[];
  /** Matches kinds of later releases. Default: none. */
  readonly laterKinds?: RegExp;
};

export type Names = ReturnType<typeof createNames>;

/**
 * Maps the names of streams, groups and event types to those on the server, which other stores and applications may share. The
 * stream name identifies our events; the event type alone does not (docs/decisions/eventstoredb.md).
 */
export function createNames({ prefix, kinds, laterKinds }: NamesOptions) {
  const start = prefix === undefined ? '' : `${prefix}.`;
  const withoutStart = (onServer: string) => (onServer.startsWith(start) ? onServer.slice(start.length) : undefined);

  return {
    /** The name on the server of a stream, a group or an event type. */
    onServer: (name: string): string => `${start}${name}`,

    /** Our name of a stream on the server; undefined if it is not ours. */
    stream(onServer: string): string | undefined {
      const name = withoutStart(onServer);
      const [kind = ''] = name?.split('-', 1) ?? [];
      return kinds === undefined || kinds.includes(kind) || laterKinds?.test(kind) ? name : undefined;
    },

    /** Our name of an event type on the server; undefined if it is not ours, such as system events (`$…`). */
    type(onServer: string): string | undefined {
      const type = withoutStart(onServer);
      return type === '' || type?.startsWith('$') ? undefined : type;
    },

    /** The server-side filter for events of these types, or for all of ours. */
    filter(types: readonly string[] | undefined): string {
      return types === undefined ? `^${escaped(start)}[^$]` : `^${escaped(start)}(${types.map(escaped).join('|')})$`;
    },
  };
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
