import { type Link, type Outcome, type Proposed, position, type Recorded, text } from './messages.ts';

/** The data of the test server: a log of events in streams. */
export class ServerLog {
  readonly all: Recorded[] = [];
  readonly streams = new Map<string, Recorded[]>();
  /** The first readable revision of a stream. */
  readonly truncatedBefore = new Map<string, number>();
  /** Called after each append. */
  readonly listeners: (() => void)[] = [];
  #offset = 1_000n;

  /** Events of one append share the commit position, as in a log with explicit transactions. */
  store(stream: string, events: readonly Proposed[]): Recorded {
    const list = this.streams.get(stream) ?? [];
    this.streams.set(stream, list);
    const prepares = events.map(({ data, metadata }) => {
      this.#offset += BigInt(120 + data.length + metadata.length);
      return this.#offset;
    });
    this.#offset += 50n;
    const commit = this.#offset;
    for (const [index, event] of events.entries()) {
      const prepare = prepares[index] ?? commit;
      const recorded = { ...event, stream, revision: list.length, commit, prepare, created: Date.now() };
      list.push(recorded);
      this.all.push(recorded);
    }
    // As on a real server, system events are interleaved with those of users.
    if (this.all.length % 7 === 0) this.store('$stats', [system('$statsCollected')]);
    const last = list.at(-1);
    if (last === undefined) throw new Error('Nothing to store');
    for (const listener of this.listeners) listener();
    return last;
  }

  /** @param expected the revision that the stream must have, -1 for none; undefined for any */
  append(stream: string, expected: number | undefined, events: readonly Proposed[]): Outcome {
    const list = this.streams.get(stream) ?? [];
    if (expected !== undefined && expected !== list.length - 1) {
      const written = list.slice(expected + 1, expected + 1 + events.length);
      const same = written.length === events.length && written.every(({ id }, index) => id === events[index]?.id);
      const last = written.at(-1);
      // For a duplicate append, a real server returns the position of the first event, not of the last.
      if (same && last !== undefined) return { stored: { ...last, ...position(written[0]) } };
      return { actual: list.length - 1 };
    }
    return { stored: this.store(stream, events) };
  }

  /** The target event of a link. */
  resolve(link: Recorded): Link | undefined {
    if (link.type !== '$>') return undefined;
    const [, revision, stream] = /^(\d+)@(.*)$/s.exec(text(link.data)) ?? [];
    const event = this.streams.get(stream ?? '')?.[Number(revision)];
    return event === undefined ? undefined : { link, event };
  }
}

/** A system event of the server. */
export function system(type: string): Proposed {
  const data = Buffer.from('{}');
  return { id: crypto.randomUUID(), type, contentType: 'application/json', data, metadata: new Uint8Array() };
}
