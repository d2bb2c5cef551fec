import type { DomainEvent, Recorded } from '../domain/events.ts';
import { UnknownEvent, upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { LogAway } from '../runtime/unavailable.ts';
import { within } from '../runtime/within.ts';

/** How old a cached state may be when it is used. */
const FRESH_MS = 1_000;
/** How long a read of the log may take. With {@link FRESH_MS}, a revoked credential stops within 2 s. */
const READ_WITHIN_MS = 1_500;
const CACHED_STREAMS = 10_000;

type Known<S> = {
  readonly state: S | undefined;
  readonly revision: number;
  /** When the read began that found this state (monotonic). */
  readonly at: number;
};

const NOTHING = { state: undefined, revision: -1 } as const;

/** The state of streams as the log has it, independent of the read models (docs/decisions/credentials.md). */
export type LiveStates<S> = {
  /**
   * The state of a stream, not older than 1.5 s; undefined if the stream does not exist. While the log is away, which one read finds
   * out, the last known state stands in.
   * @throws {LogAway} if the log cannot be read and no known state stands in
   */
  get(stream: string): Promise<S | undefined>;
  /** The state of a stream, if it is known and fresh: what `get` would resolve to, without a promise. */
  fresh(stream: string): S | undefined;
  /** Forgets a stream that this process has just appended to. */
  forget(stream: string): void;
};

export function createLiveStates<S, E extends DomainEvent>(deps: {
  readonly events: Pick<EventStore, 'readStream' | 'outage'>;
  readonly evolve: (state: S | undefined, event: Recorded<E>) => S | undefined;
  /** The state of a stream as another source has it, if it has; asked while the log is away. */
  readonly elsewhere: (stream: string, last: S | undefined) => Promise<S | undefined>;
  /** What a state is worth while the log is away: `final`, because nothing can change it any more; or whether it holds. */
  readonly worth: (state: S) => 'final' | 'holds' | 'unsure';
}): LiveStates<S> {
  const { events, evolve, elsewhere, worth } = deps;
  const cached = createLruCache<string, Known<S>>(CACHED_STREAMS);
  const reads = new Map<string, Promise<Known<S>>>();

  /** Folds what is not known of the stream yet. */
  async function read(stream: string): Promise<Known<S>> {
    const at = performance.now();
    const known = cached.get(stream);
    // What another source told is not folded any further.
    let { state, revision } = known === undefined || known.revision < 0 ? NOTHING : known;
    for await (const stored of events.readStream(stream, { from: revision + 1 })) {
      // A stream holds the events of one aggregate only.
      state = evolve(state, upcast<E>(stored));
      ({ revision } = stored);
    }
    return { state, revision, at };
  }

  /** One read of a stream at a time; calls meanwhile share it. */
  function shared(stream: string): Promise<Known<S>> {
    const running = reads.get(stream);
    if (running !== undefined) return running;
    const reading = read(stream).then(
      (known) => {
        // Unless the stream was forgotten meanwhile: what this read found may be what it was forgotten for.
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

  function fresh(stream: string): S | undefined {
    const known = cached.get(stream);
    return known !== undefined && performance.now() - known.at < FRESH_MS ? known.state : undefined;
  }

  /** What is known of a stream while the log is away: what has ended by any source has ended. */
  async function standIn(stream: string, cause: unknown): Promise<S> {
    const at = performance.now();
    const last = cached.get(stream);
    const told = await elsewhere(stream, last?.state).catch(() => undefined);
    const states = [last?.state, told].filter((state) => state !== undefined);
    const [state] = [...states.filter((each) => worth(each) === 'final'), ...states];
    if (state === undefined || states.some((each) => worth(each) === 'unsure'))
      throw new LogAway(`The event log cannot be read: ${stream}`, cause);
    cached.set(stream, { state, revision: state === last?.state ? last.revision : NOTHING.revision, at });
    return state;
  }

  /** How long a read may take: not at all once the log has been away for as long as one may. */
  function patienceMs(): number {
    const since = events.outage.since();
    return since === undefined ? READ_WITHIN_MS : READ_WITHIN_MS - (performance.now() - since);
  }

  return {
    fresh,

    async get(stream) {
      const known = fresh(stream);
      if (known !== undefined) return known;
      const limitMs = patienceMs();
      if (limitMs <= 0) return standIn(stream, undefined);
      const began = performance.now();
      try {
        return (await within(limitMs, shared(stream))).state;
      } catch (error) {
        // It may be what ends the credential.
        if (error instanceof UnknownEvent) throw error;
        events.outage.suspect(error, began);
        // The next read does not wait for this one.
        reads.delete(stream);
        return standIn(stream, error);
      }
    },

    forget(stream) {
      cached.delete(stream);
      reads.delete(stream);
    },
  };
}
