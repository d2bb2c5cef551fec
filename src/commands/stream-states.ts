import type { DomainEvent } from '../domain/events.ts';
import { knownEvent } from '../domain/known-event.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';

/** How the events of one kind of stream fold into the state that its decider needs. */
export type Aggregate<S, E extends DomainEvent> = {
  readonly initial: S;
  /** Returns a new state, because the previous one may still be in use. Its cost does not grow with the stream. */
  evolve(state: S, event: E): S;
  /** How much memory a state takes, in units of about 500 bytes. Default 1. */
  sizeOf?(state: S): number;
};

/** The state of a stream at a revision; -1 if the stream does not exist. */
type Folded<S> = { readonly state: S; readonly revision: number; readonly position: Position };

/** Maximum total size of the cached states. A number of streams would not limit the memory: a space-day holds all its bookings. */
const MAX_SIZE = 40_000;

/** Folded states of streams, cached so that the next command on a stream need not read it again. */
export function createStreamStates(log: Pick<EventStore, 'readStream'>, maxSize = MAX_SIZE) {
  const states = createLruCache<string, Folded<unknown> & { readonly size: number }>(maxSize, {
    sizeOf: ({ size }) => size,
  });

  function set<S, E extends DomainEvent>(stream: string, { sizeOf }: Aggregate<S, E>, folded: Folded<S>): void {
    // A state that is larger than the cache takes all of it.
    const size = Math.min(Math.max(1, sizeOf?.(folded.state) ?? 1), maxSize);
    states.set(stream, { ...folded, size });
  }

  /** The events of a stream, starting at a revision. */
  async function* read<S, E extends DomainEvent>(stream: string, _: Aggregate<S, E>, from = 0) {
    for await (const event of log.readStream(stream, { from })) {
      // Only this folder appends, so a stream holds only the events of its aggregate.
      yield knownEvent<E>(event);
    }
  }

  /** The cached state of a stream, if there is one. Another process may have appended to the stream since. */
  const cached = <S, E extends DomainEvent>(stream: string, _: Aggregate<S, E>) =>
    states.get(stream) as Folded<S> | undefined;

  return {
    read,
    cached,

    /** The current state of a stream: the cached one plus newer events. */
    async catchUp<S, E extends DomainEvent>(stream: string, aggregate: Aggregate<S, E>): Promise<Folded<S>> {
      const newStream: Folded<S> = { state: aggregate.initial, revision: -1, position: LOG_START };
      let { state, revision, position } = cached(stream, aggregate) ?? newStream;
      for await (const event of read(stream, aggregate, revision + 1)) {
        state = aggregate.evolve(state, event);
        ({ revision, position } = event);
      }
      if (revision >= 0) set(stream, aggregate, { state, revision, position });
      return { state, revision, position };
    },

    /** Caches the state after an append. */
    set,
  };
}
