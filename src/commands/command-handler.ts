import pRetry from 'p-retry';
import type { Actor } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type Decision, isRefusal, type Refusal } from '../domain/decision.ts';
import type { EventTrace } from '../domain/event-trace.ts';
import { isCountedEvent } from '../domain/event-types.ts';
import { type DomainEvent, type EventMetadata, SCHEMA } from '../domain/events.ts';
import { type Subject, subjectOfUser } from '../domain/personal-text.ts';
import { SerialQueue } from '../event-loop/serial-queue.ts';
import {
  type EventStore,
  type ExpectedRevision,
  type Position,
  WrongExpectedRevision,
} from '../event-store/event-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { DailyUses } from '../quotas/daily-use.ts';
import type { Clock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { type Aggregate, createStreamStates } from './stream-states.ts';

/** The actor and the request of a command. */
export type CommandContext = Partial<EventTrace> & {
  readonly actor: Actor;
  /** One per external request; all of its events carry it. */
  readonly correlationId: string;
  /** Id of the event that led to the command, if one did. */
  readonly causationId?: string;
  /** The user for whom an app acts. Not part of the event; only marks the author of a reason. */
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

/** What happens between the append, or the decision that there was nothing left to do, and the answer. */
export type AfterAppend = {
  /**
   * Writes the records that the command takes effect through. If it fails, so does the command, which can be repeated.
   * @param position of the stream's last event
   */
  readonly record?: (position: Position) => Promise<void>;
  /** Whether to wait for the read models. Default true. */
  readonly waits?: boolean | undefined;
  /** Whether the command has counted its events before, as one of many. Default false. */
  readonly isCounted?: boolean | undefined;
};

export type CommandHandler = ReturnType<typeof createCommandHandler>;

/** Counts commands. @param streamKind the part of a stream's name before its id */
export type CommandObserver = {
  command(streamKind: string, outcome: string): void;
  appendConflict(streamKind: string): void;
};

const kindOf = (stream: string): string => stream.split('-', 1)[0] ?? stream;

/** Retries of a command when other processes append to the same stream first: 60 decisions in all. */
const RETRIES = { retries: 59, minTimeout: 1, maxTimeout: 64, randomize: true } as const;

/**
 * The path of every command: load, decide, append (docs/decisions/event-log.md). A stream that is not cached is
 * read first. A cached state may be stale, so a refusal is decided again on what the log holds, and the expected revision guards the append.
 */
export function createCommandHandler(deps: {
  readonly events: EventStore;
  readonly clock: Clock;
  /** Waits until the read models show a position. */
  readonly waitFor: (position: Position) => Promise<unknown>;
  /** Seals personal texts (docs/decisions/personal-data.md). Not needed for events without them. */
  readonly seal?: PersonalData['sealEvent'];
  /** Counts what accounts write. Not needed for events that no account causes. */
  readonly uses?: Pick<DailyUses, 'take'> | undefined;
  readonly observer?: CommandObserver;
}) {
  const { events: log, clock, waitFor, seal, uses, observer } = deps;
  const states = createStreamStates(log);

  async function decideOnce<S, E extends DomainEvent, D extends E>(
    stream: string,
    aggregate: Aggregate<S, E>,
    context: CommandContext,
    decide: (state: S) => Decision<D>,
    count: (events: readonly DomainEvent[]) => Promise<Refusal | undefined>,
  ): Promise<Accepted<S, D> | Refusal> {
    const cached = states.cached(stream, aggregate);
    let current = cached ?? (await states.catchUp(stream, aggregate));
    let decision = decide(current.state);
    if (cached !== undefined && (isRefusal(decision) || decision.length === 0)) {
      current = await states.catchUp(stream, aggregate);
      if (current.revision !== cached.revision) decision = decide(current.state);
    }
    if (isRefusal(decision)) return decision;
    // The command was carried out before; the read models may still lag.
    if (decision.length === 0) return { state: current.state, events: [], position: current.position };

    const events = seal === undefined ? decision : await sealed(decision, context, seal);
    if (isRefusal(events)) return events;
    const tooMuch = await count(events);
    if (tooMuch !== undefined) return tooMuch;
    const at = toTimestamp(clock());
    const { userId: _, ...request } = context;
    const records = events.map(({ type, data }) => ({ type, data, metadata: { at, ...request, schema: SCHEMA } }));
    const expectedRevision: ExpectedRevision = current.revision < 0 ? 'none' : current.revision;
    faultPoint('decided, not appended');
    const { revision, position } = await log.append(stream, records, { expectedRevision });
    const state = events.reduce<S>(aggregate.evolve, current.state);
    states.set(stream, aggregate, { state, revision, position });
    return { state, events, at, position };
  }

  /** Commands of this process on one stream run one after another; otherwise they would only conflict with each other. */
  const streams = new SerialQueue();

  return {
    /** The events of a stream, starting at a revision. */
    read: states.read,

    /** The current state of a stream. */
    async load<S, E extends DomainEvent>(stream: string, aggregate: Aggregate<S, E>): Promise<S> {
      return (await states.catchUp(stream, aggregate)).state;
    },

    /** The current state of a stream, and the position of its last event. */
    loadAt: states.catchUp,

    /** Loads a stream, decides, appends the events and waits until the read models show them (docs/decisions/read-models.md). */
    async execute<S, E extends DomainEvent, D extends E>(
      stream: string,
      aggregate: Aggregate<S, E>,
      context: CommandContext,
      decide: (state: S) => Decision<D>,
      { record, waits = true, isCounted = false }: AfterAppend = {},
    ): Promise<Accepted<S, D> | Refusal> {
      const { account } = context.actor;
      let isToCount = uses !== undefined && account !== undefined && !isCounted;
      /** Once for a command, however often it is decided. */
      const count = async (events: readonly DomainEvent[]): Promise<Refusal | undefined> => {
        if (!isToCount || uses === undefined || account === undefined || !events.some(isCountedEvent)) return undefined;
        isToCount = false;
        const refusal = await uses.take(account, useOf(events));
        const isRequest = events.some(({ type }) => type === 'BookingRequested');
        return refusal && isRequest ? { ...refusal, refused: 'BookingNotAllowed' } : refusal;
      };
      const attempt = () => decideOnce(stream, aggregate, context, decide, count);
      const decided = () =>
        pRetry(attempt, {
          ...RETRIES,
          shouldRetry: ({ error }) => error instanceof WrongExpectedRevision,
          onFailedAttempt: async ({ error }) => {
            if (!(error instanceof WrongExpectedRevision)) return;
            observer?.appendConflict(kindOf(stream));
            await states.catchUp(stream, aggregate);
          },
        });
      const outcome = await streams.run(stream, decided).catch((error: unknown) => {
        observer?.command(kindOf(stream), 'failed');
        throw error;
      });
      observer?.command(kindOf(stream), nameOf(outcome));
      if (isRefusal(outcome)) return outcome;
      await record?.(outcome.position);
      if (!waits) return outcome;
      await waitFor(outcome.position);
      return outcome;
    },
  };
}

/** What events add to the log. */
const useOf = (events: readonly DomainEvent[]) => ({
  events: events.length,
  bytes: events.reduce((bytes, { data }) => bytes + Buffer.byteLength(JSON.stringify(data)), 0),
});

function nameOf(outcome: Accepted<unknown, DomainEvent> | Refusal): string {
  if (isRefusal(outcome)) return outcome.refused;
  return outcome.events.length === 0 ? 'unchanged' : 'accepted';
}

/** The events with their personal texts sealed, or the first refusal. */
async function sealed<E extends DomainEvent>(
  decided: readonly E[],
  { actor, userId = actor.kind === 'user' ? actor.id : undefined }: CommandContext,
  seal: PersonalData['sealEvent'],
): Promise<readonly E[] | Refusal> {
  const author: Subject | undefined = userId === undefined ? undefined : subjectOfUser(userId);
  const events: E[] = [];
  for (const each of await Promise.all(decided.map((event) => seal(event, author)))) {
    if (isRefusal(each)) return each;
    events.push(each);
  }
  return events;
}
