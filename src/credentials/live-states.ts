import type { DomainEvent, Recorded } from '../domain/events.ts';
import { UnknownEvent, upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { Unavailable } from '../runtime/unavailable.ts';
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

/** The state of streams as the log has it, independent of the read models (docs/decisions/credentials.md). */
export type LiveStates<S> = {
  /**
   * The state of a stream, not older than 1.5 s; undefined if the stream does not exist. While the log cannot be read, a state
   * that still holds stands in for a while.
   * @throws {Unavailable} if the log cannot be read and the last known state does not stand in
   */
  get(stream: string): Promise<S | undefined>;
  /** The state of a stream, if it is known and fresh: what `get` would resolve to, without a promise. */
  fresh(stream: string): S | undefined;
  /** Forgets a stream that this process has just appended to. */
  forget(stream: string): void;
};

export function createLiveStates<S, E extends DomainEvent>(deps: {
  readonly events: Pick<EventStore, 'readStream'>;
  readonly evolve: (state: S | undefined, event: Recorded<E>) => S | undefined;
  /**
   * What a state is worth while the log cannot be read: `final` for good, because nothing can change it any more; `grace` for
   * {@link graceMs}; `none` not at all.
   */
  readonly standsIn: (state: S) => 'final' | 'grace' | 'none';
  readonly graceMs: number;
}): LiveStates<S> {
  const { events, evolve, standsIn, graceMs } = deps;
  const cached = createLruCache<string, Known<S>>(CACHED_STREAMS);
  const reads = new Map<string, Promise<Known<S>>>();

  /** Folds what is not known of the stream yet. */
  async function read(stream: string): Promise<Known<S>> {
    const at = performance.now();
    let { state, revision } = cached.get(stream) ?? { state: undefined, revision: -1 };
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

  return {
    fresh,

    async get(stream) {
      const known = fresh(stream);
      if (known !== undefined) return known;
      try {
        return (await within(READ_WITHIN_MS, shared(stream))).state;
      } catch (error) {
        // It may be what ends the credential.
        if (error instanceof UnknownEvent) throw error;
        const last = cached.get(stream);
        const worth = last?.state === undefined ? 'none' : standsIn(last.state);
        if (last !== undefined && (worth === 'final' || (worth === 'grace' && performance.now() - last.at < graceMs)))
          return last.state;
        throw new Unavailable(`The event log cannot be read: ${stream}`, error);
      }
    },

    forget(stream) {
      cached.delete(stream);
      reads.delete(stream);
    },
  };
}
