import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Actor } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type Decision, isRefusal, type Refusal } from '../domain/decision.ts';
import { type DomainEvent, type EventMetadata, type Recorded, SCHEMA } from '../domain/events.ts';
import { upcast } from '../domain/upcast.ts';
import {
  type EventStore,
  type ExpectedRevision,
  LOG_START,
  type Position,
  WrongExpectedRevision,
} from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';

/** Who issues a command, and the request that it came in with. */
export type CommandContext = {
  readonly actor: Actor;
  /** One per request from outside; every event that follows from it carries it. */
  readonly correlationId: string;
};

/** How the events of one kind of stream fold into the state its decider needs. */
export type Aggregate<S, E extends DomainEvent> = {
  readonly initial: S;
  evolve(state: S, event: E): S;
};

/** What an accepted command did. No events: there was nothing left to do. */
export type Accepted<S, E extends DomainEvent> = {
  readonly state: S;
  readonly events: readonly E[];
  /** When the events happened; absent without events. */
  readonly at?: EventMetadata['at'];
  /** Where the last event of the stream stands. */
  readonly position: Position;
};

export type CommandHandler = {
  /**
   * Loads a stream, decides, appends what was decided and waits until the read models show it
   * (docs/decisions/read-your-writes.md).
   */
  execute<S, E extends DomainEvent, D extends E>(
    stream: string,
    aggregate: Aggregate<S, E>,
    context: CommandContext,
    decide: (state: S) => Decision<D>,
  ): Promise<Accepted<S, D> | Refusal>;
  /** The present state of a stream. */
  load<S, E extends DomainEvent>(stream: string, aggregate: Aggregate<S, E>): Promise<S>;
  /** The events of a stream, from a revision on. */
  read<S, E extends DomainEvent>(stream: string, aggregate: Aggregate<S, E>, from?: number): AsyncIterable<Recorded<E>>;
};

type Folded<S> = { readonly state: S; readonly revision: number; readonly position: Position };

/** How often a command is decided again because somebody else appended first. */
const MAX_DECISIONS = 60;
const CACHED_STREAMS = 10_000;

/**
 * The way every command takes. Folded streams are remembered: what is remembered may be stale, so it never says no on its
 * own (a refusal is decided again on what the log holds), and the expected revision guards the append.
 */
export function createCommandHandler(deps: {
  readonly events: EventStore;
  readonly clock: Clock;
  readonly waitFor: (position: Position) => Promise<unknown>;
}): CommandHandler {
  const { events: store, clock, waitFor } = deps;
  const remembered = new LRUCache<string, Folded<unknown>>({ max: CACHED_STREAMS });

  const recall = <S>(stream: string) => remembered.get(stream) as Folded<S> | undefined;

  async function* read<S, E extends DomainEvent>(stream: string, _: Aggregate<S, E>, from = 0) {
    for await (const event of store.readStream(stream, { from })) {
      // A stream holds the events of its aggregate and no others: only this module appends.
      yield upcast(event) as unknown as Recorded<E>;
    }
  }

  /** Folds what the stream holds beyond what is remembered. */
  async function catchUp<S, E extends DomainEvent>(stream: string, aggregate: Aggregate<S, E>): Promise<Folded<S>> {
    let { state, revision, position } = recall<S>(stream) ?? {
      state: aggregate.initial,
      revision: -1,
      position: LOG_START,
    };
    for await (const event of read(stream, aggregate, revision + 1)) {
      state = aggregate.evolve(state, event);
      ({ revision, position } = event);
    }
    if (revision >= 0) remembered.set(stream, { state, revision, position });
    return { state, revision, position };
  }

  /** Decides on the present state and appends; decides again whenever another process appended first. */
  async function append<S, E extends DomainEvent, D extends E>(
    stream: string,
    aggregate: Aggregate<S, E>,
    context: CommandContext,
    decide: (state: S) => Decision<D>,
  ): Promise<Accepted<S, D> | Refusal> {
    for (let attempt = 1; ; attempt += 1) {
      const known = recall<S>(stream);
      let current = known ?? (await catchUp(stream, aggregate));
      let decision = decide(current.state);
      if (known !== undefined && (isRefusal(decision) || decision.length === 0)) {
        current = await catchUp(stream, aggregate);
        if (current.revision !== known.revision) decision = decide(current.state);
      }
      if (isRefusal(decision)) return decision;
      // Somebody did it before; the read models may still be on their way there.
      if (decision.length === 0) return { state: current.state, events: [], position: current.position };

      const at = toTimestamp(clock());
      const metadata = { at, ...context, causationId: context.correlationId, schema: SCHEMA };
      const expectedRevision: ExpectedRevision = current.revision < 0 ? 'none' : current.revision;
      try {
        const records = decision.map(({ type, data }) => ({ type, data, metadata }));
        const { revision, position } = await store.append(stream, records, { expectedRevision });
        const state = decision.reduce<S>(aggregate.evolve, current.state);
        remembered.set(stream, { state, revision, position });
        return { state, events: decision, at, position };
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision) || attempt === MAX_DECISIONS) throw error;
        await catchUp(stream, aggregate);
        // The first conflict is decided again at once: most end in a refusal. Later ones make room for each other.
        if (attempt > 1) await pause(Math.random() * Math.min(2 ** attempt, 64));
      }
    }
  }

  /** Commands of one process on one stream take turns: they would only refuse each other's expected revision. */
  const streams = new SerialQueue();

  return {
    read,

    async load(stream, aggregate) {
      return (await catchUp(stream, aggregate)).state;
    },

    async execute(stream, aggregate, context, decide) {
      const outcome = await streams.run(stream, () => append(stream, aggregate, context, decide));
      if (!isRefusal(outcome)) await waitFor(outcome.position);
      return outcome;
    },
  };
}
