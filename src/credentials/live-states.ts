import type { DomainEvent, Recorded } from '../domain/events.ts';
import { UnknownEvent, upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { LogUnavailable } from '../runtime/unavailable.ts';
import { within } from '../runtime/within.ts';

/** The maximum age of a cached state. */
const FRESH_MS = 1_000;
/** How long a read of the log may take. Concurrent calls share a read, so this also limits the age of its state. */
const READ_WITHIN_MS = 1_500;
const CACHED_STREAMS = 10_000;

type Known<S> = {
  readonly state: S | undefined;
  readonly revision: number;
  /** When the read of this state began (monotonic). */
  readonly at: number;
};

const NOTHING = { state: undefined, revision: -1 } as const;

/** The state of streams, read from the log independently of the read models (docs/decisions/credentials.md). */
export type LiveStates<S> = {
  /**
   * The state of a stream, not older than 1.5 s; undefined if the stream does not exist. During an outage of the log, which one
   * read detects, the last known state is used.
   * @throws {LogUnavailable} if the log cannot be read and no state is known
   */
  get(stream: string): Promise<S | undefined>;
  /** Drops the state of a stream that this process has just appended to. */
  forget(stream: string): void;
};

export function createLiveStates<S, E extends DomainEvent>(deps: {
  readonly events: Pick<EventStore, 'readStream' | 'outage'>;
  readonly evolve: (state: S | undefined, event: Recorded<E>) => S | undefined;
  /** The state of a stream from another source, used during an outage of the log. */
  readonly fallback: (stream: string, last: S | undefined) => Promise<S | undefined>;
  /** During an outage of the log, a `final` state takes precedence, `assumed` ones are used, and with an `unsure` one the read fails. */
  readonly certainty: (state: S) => 'final' | 'assumed' | 'unsure';
}): LiveStates<S> {
  const { events, evolve, fallback, certainty } = deps;
  const cached = createLruCache<string, Known<S>>(CACHED_STREAMS);
  const reads = new Map<string, Promise<Known<S>>>();

  /** Folds the events after the known revision. */
  async function read(stream: string): Promise<Known<S>> {
    const at = performance.now();
    const known = cached.get(stream);
    // A state from another source has no revision to continue from.
    let { state, revision } = known === undefined || known.revision < 0 ? NOTHING : known;
    for await (const stored of events.readStream(stream, { from: revision + 1 })) {
      // A stream holds the events of one aggregate only.
      state = evolve(state, upcast<E>(stored));
      ({ revision } = stored);
    }
    return { state, revision, at };
  }

  /** One read of a stream at a time, shared by concurrent calls. */
  function shared(stream: string): Promise<Known<S>> {
    const running = reads.get(stream);
    if (running !== undefined) return running;
    const reading = read(stream).then(
      (known) => {
        // Skip if the stream was dropped meanwhile, because this read may predate the append.
        if (settled() && known.revision >= 0) cached.set(stream, known);
        return known;
      },
      (error: unknown) => {
        settled();
        throw error;
      },
    );
    const settled = () => reads.get(stream) === reading && reads.delete(stream);
    reads.set(stream, reading);
    return reading;
  }

  /** The state of a stream while the log is unavailable. A credential that has ended according to either source has ended. */
  async function lastKnown(stream: string, cause: unknown): Promise<S> {
    const at = performance.now();
    const last = cached.get(stream);
    const other = await fallback(stream, last?.state).catch(() => undefined);
    const states = [last?.state, other].filter((state) => state !== undefined);
    const [state] = [...states.filter((each) => certainty(each) === 'final'), ...states];
    if (state === undefined || states.some((each) => certainty(each) === 'unsure'))
      throw new LogUnavailable(`The event log cannot be read: ${stream}`, cause);
    cached.set(stream, { state, revision: state === last?.state ? last.revision : NOTHING.revision, at });
    return state;
  }

  /** The time limit of a read. Not above 0 once the outage has lasted as long as a read may take. */
  function patienceMs(): number {
    const since = events.outage.since();
    return since === undefined ? READ_WITHIN_MS : READ_WITHIN_MS - (performance.now() - since);
  }

  return {
    async get(stream) {
      const known = cached.get(stream);
      if (known !== undefined && performance.now() - known.at < FRESH_MS) return known.state;
      const limitMs = patienceMs();
      if (limitMs <= 0) return lastKnown(stream, undefined);
      const began = performance.now();
      try {
        return (await within(limitMs, shared(stream))).state;
      } catch (error) {
        // The appended event may revoke the credential.
        if (error instanceof UnknownEvent) throw error;
        events.outage.suspect(error, began);
        // The next read must not share this one.
        reads.delete(stream);
        return lastKnown(stream, error);
      }
    },

    forget(stream) {
      cached.delete(stream);
      reads.delete(stream);
    },
  };
}
