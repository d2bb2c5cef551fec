import { setTimeout as pause } from 'node:timers/promises';
import type { Actor } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type Decision, isRefusal, type Refusal } from '../domain/decision.ts';
import { type DomainEvent, type EventMetadata, type Recorded, SCHEMA } from '../domain/events.ts';
import { type Subject, subjectOfUser } from '../domain/personal-text.ts';
import {
  type EventStore,
  type ExpectedRevision,
  type Position,
  WrongExpectedRevision,
} from '../event-store/event-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { Clock } from '../runtime/clock.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import { type Aggregate, createStreamStates } from './stream-states.ts';

/** Who issues a command, and in which request. */
export type CommandContext = {
  readonly actor: Actor;
  /** One per external request; every event that follows from it carries it. */
  readonly correlationId: string;
  /** Id of the event that led to the command, if one did. */
  readonly causationId?: string;
  /** The user for whom an app acts. No part of the event: it only says whose words a reason is. */
  readonly userId?: string | undefined;
};

/** The result of an accepted command. No events means there was nothing left to do. */
export type Accepted<S, E extends DomainEvent> = {
  readonly state: S;
  readonly events: readonly E[];
  /** When the events happened. Absent if there are none. */
  readonly at?: EventMetadata['at'];
  /** Position of the stream's last event. */
  readonly position: Position;
};

export type CommandHandler = {
  /**
   * Loads a stream, decides, appends what was decided and waits until the read models show it
   * (docs/decisions/read-models.md).
   */
  execute<S, E extends DomainEvent, D extends E>(
    stream: string,
    aggregate: Aggregate<S, E>,
    context: CommandContext,
    decide: (state: S) => Decision<D>,
  ): Promise<Accepted<S, D> | Refusal>;
  /** The current state of a stream. */
  load<S, E extends DomainEvent>(stream: string, aggregate: Aggregate<S, E>): Promise<S>;
  /** The events of a stream, starting at a revision. */
  read<S, E extends DomainEvent>(stream: string, aggregate: Aggregate<S, E>, from?: number): AsyncIterable<Recorded<E>>;
};

/** Attempts at a command when other processes keep appending first. */
const MAX_DECISIONS = 60;

/**
 * The path of every command: load, decide, append (docs/decisions/event-log.md). What is known of a stream may be stale, so it
 * never refuses on its own (a refusal is decided again on what the log holds), and the expected revision guards the append.
 */
export function createCommandHandler(deps: {
  readonly events: EventStore;
  readonly clock: Clock;
  /** Waits until read models show everything up to a position: those that show events of these types, or all. */
  readonly waitFor: (position: Position, types?: readonly string[]) => Promise<unknown>;
  /** Is told of each stream that was appended to, before the command is answered. */
  readonly appended?: (stream: string) => void;
  /** Seals what people wrote (docs/decisions/personal-data.md). Not needed where no event holds any. */
  readonly seal?: PersonalData['sealEvent'];
}): CommandHandler {
  const { events: log, clock, waitFor, appended, seal } = deps;
  const states = createStreamStates(log);

  /** Decides on the current state and appends. Decides again whenever another process appended first. */
  async function append<S, E extends DomainEvent, D extends E>(
    stream: string,
    aggregate: Aggregate<S, E>,
    context: CommandContext,
    decide: (state: S) => Decision<D>,
  ): Promise<Accepted<S, D> | Refusal> {
    const request = ofRequest(context);
    for (let attempt = 1; ; attempt += 1) {
      const known = states.known(stream, aggregate);
      let current = known;
      let decision = decide(current.state);
      if (isRefusal(decision) || decision.length === 0) {
        current = await states.catchUp(stream, aggregate);
        if (current.revision !== known.revision) decision = decide(current.state);
      }
      if (isRefusal(decision)) return decision;
      // It has been done before; the read models may still lag behind it.
      if (decision.length === 0) return { state: current.state, events: [], position: current.position };

      const sealing = seal === undefined ? decision : sealed(decision, context, seal);
      const events = sealing instanceof Promise ? await sealing : sealing;
      if (isRefusal(events)) return events;
      const at = toTimestamp(clock());
      const expectedRevision: ExpectedRevision = current.revision < 0 ? 'none' : current.revision;
      try {
        const records = events.map(({ type, data }) => ({
          type,
          data,
          metadata: { at, ...request, schema: SCHEMA },
        }));
        const { revision, position } = await log.append(stream, records, { expectedRevision });
        const state = events.reduce<S>(aggregate.evolve, current.state);
        states.set(stream, { state, revision, position });
        appended?.(stream);
        return { state, events, at, position };
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision) || attempt === MAX_DECISIONS) throw error;
        await states.catchUp(stream, aggregate);
        // The first retry comes at once, because most conflicts end in a refusal. Later ones back off at random.
        if (attempt > 1) await pause(Math.random() * Math.min(2 ** attempt, 64));
      }
    }
  }

  /** Commands of this process on one stream run one after another; otherwise they would only conflict with each other. */
  const streams = new SerialQueue();

  return {
    read: states.read,

    async load(stream, aggregate) {
      return (await states.catchUp(stream, aggregate)).state;
    },

    async execute(stream, aggregate, context, decide) {
      const outcome = await streams.run(stream, () => append(stream, aggregate, context, decide));
      if (isRefusal(outcome)) return outcome;
      const types = outcome.events.map(({ type }) => type);
      // Without an event, the command found done what it asked for, by whatever event.
      await (types.length === 0 ? waitFor(outcome.position) : waitFor(outcome.position, types));
      return outcome;
    },
  };
}

/** What of the context becomes part of the event. */
function ofRequest(context: CommandContext): Omit<EventMetadata, 'at' | 'schema'> {
  if (!('userId' in context)) return context;
  const { userId: _, ...request } = context;
  return request;
}

/**
 * The events with what people wrote sealed, or the refusal of the first of which nothing can be kept. Without a promise where
 * nobody has to be waited for.
 */
function sealed<E extends DomainEvent>(
  decided: readonly E[],
  { actor, userId = actor.kind === 'user' ? actor.id : undefined }: CommandContext,
  seal: PersonalData['sealEvent'],
): readonly E[] | Refusal | Promise<readonly E[] | Refusal> {
  const author: Subject | undefined = userId === undefined ? undefined : subjectOfUser(userId);
  const all = decided.map((each) => seal(each, author));
  const ready: (E | Refusal)[] = [];
  for (const each of all) {
    if (each instanceof Promise) return Promise.all(all).then(unlessRefused);
    ready.push(each);
  }
  return unlessRefused(ready);
}

function unlessRefused<E extends DomainEvent>(sealed: readonly (E | Refusal)[]): readonly E[] | Refusal {
  const events: E[] = [];
  for (const each of sealed) {
    if (isRefusal(each)) return each;
    events.push(each);
  }
  return events;
}
