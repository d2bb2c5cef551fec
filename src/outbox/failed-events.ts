import type { Collection, DocumentStore, Find, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { UnknownEvent } from '../domain/known-event.ts';
import type { Position, StoredEvent } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import type { OutboxRole } from './marks.ts';
import { dueIn, isDueTrusted } from './progress.ts';

/** An event that could not be turned into deliveries, or into mails (docs/decisions/outbox.md#handling-an-event). */
export type FailedEvent = {
  readonly eventId: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: Position;
  /** Parked: retried only when an operator asks. */
  readonly state: 'Retrying' | 'Parked';
  /** Counts real failures, not unavailable dependencies. */
  readonly failures: number;
  /** The last error, or the dependency that it waits for. */
  readonly reason: string;
  readonly failingSince: Timestamp;
  /** Retrying: when the next try is due. Parked: when it was parked. */
  readonly due: Timestamp;
  /** The delay that led to `due`. A wrong clock cannot make the event wait longer. */
  readonly delayMs: number;
};

export type FailedEvents = Awaited<ReturnType<typeof openFailedEvents>>;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Pauses between tries. After the last one, sixteen hours in all, the event is parked. */
const DELAYS_MS: readonly number[] = [
  ...[SECOND_MS, 5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS, 8 * HOUR_MS],
];
/** Pause before retrying an event whose dependency is unavailable, or that needs a newer release. */
const WAIT_MS = 5 * SECOND_MS;

const INDEXES: Collection<FailedEvent>['indexes'] = [{ fields: ['state', 'due'] }];
const ofWebhooks: Collection<FailedEvent> = { name: 'fanOutFailures', kind: 'record', indexes: INDEXES };
const ofMail: Collection<FailedEvent> = { name: 'mailFailures', kind: 'record', indexes: INDEXES };

const declareInState = (collection: Collection<FailedEvent>) =>
  declareQuery(
    collection,
    (state: FailedEvent['state'], limit?: number): Find<FailedEvent> => ({
      where: { state },
      sort: [{ field: 'due' }],
      ...(limit !== undefined && { limit }),
    }),
    ['Retrying'],
    ['Retrying', 100],
  );

const FAILURES = {
  webhooks: { failedEvents: ofWebhooks, inState: declareInState(ofWebhooks) },
  mail: { failedEvents: ofMail, inState: declareInState(ofMail) },
};

/** The records of the events that failed fan-out in a role, shared by all processes. */
export async function openFailedEvents(deps: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly role: OutboxRole;
  readonly delaysMs?: readonly number[] | undefined;
}) {
  const { documents, clock, role, delaysMs = DELAYS_MS } = deps;
  const { failedEvents, inState } = FAILURES[role];
  const collection = await documents.open(failedEvents);

  /** What is stored after an error. What the event waits for is not counted. */
  function after(
    error: unknown,
    failuresBefore: number,
  ): Pick<FailedEvent, 'reason' | 'failures' | 'state' | 'due' | 'delayMs'> {
    const reason = error instanceof Error ? error.message : String(error);
    if (isWaiting(error)) return { reason, failures: failuresBefore, state: 'Retrying', ...dueIn(WAIT_MS, clock()) };
    const delayMs = delaysMs[failuresBefore];
    const state = delayMs === undefined ? 'Parked' : 'Retrying';
    return { reason, failures: failuresBefore + 1, state, ...dueIn(delayMs ?? 0, clock()) };
  }

  /** @returns the stored state, or undefined if it has changed meanwhile */
  async function change(last: Stored<FailedEvent>, to: Partial<FailedEvent>): Promise<FailedEvent | undefined> {
    const { isChanged, stored } = await collection.update(
      last.key,
      (event, version) => (event !== undefined && version === last.version ? { ...event, ...to } : undefined),
      { stored: last },
    );
    return isChanged ? stored.document : undefined;
  }

  return {
    /**
     * Records that an event could not be handled; keeps an existing record.
     * @throws if the document store is unavailable
     */
    async failed({ id, type, stream, revision, position }: StoredEvent, error: unknown): Promise<void> {
      const failingSince = toTimestamp(clock());
      await collection.insert(id, { eventId: id, type, stream, revision, position, failingSince, ...after(error, 0) });
    },

    /** The due events, longest due first. */
    async due(limit: number): Promise<Stored<FailedEvent>[]> {
      const now = clock();
      const retrying = await Array.fromAsync(collection.find(inState('Retrying', limit)));
      return retrying.filter(({ document }) => Date.parse(document.due) <= now || !isDueTrusted(document, now));
    },

    /** @returns undefined if it was changed meanwhile */
    failedAgain: (event: Stored<FailedEvent>, error: unknown) => change(event, after(error, event.document.failures)),

    /** Call once its records are stored. */
    async handled({ key, version }: Stored<FailedEvent>): Promise<void> {
      await collection.delete(key, version);
    },

    /** The events that failed fan-out, parked ones first. */
    async list(): Promise<FailedEvent[]> {
      const lists = await Promise.all(
        (['Parked', 'Retrying'] as const).map((state) =>
          Array.fromAsync(collection.find(inState(state)), ({ document }) => document),
        ),
      );
      return lists.flat();
    },

    async count(): Promise<Readonly<Record<'parked' | 'retrying', number>>> {
      const [parked, retrying] = await Promise.all([
        collection.count(inState('Parked')),
        collection.count(inState('Retrying')),
      ]);
      return { parked, retrying };
    },

    /** Makes parked events due, one or all, as if they had never failed. @returns how many */
    async replay(eventId?: string): Promise<number> {
      const chosen =
        eventId === undefined
          ? await Array.fromAsync(collection.find(inState('Parked')))
          : [await collection.get(eventId)];
      let replayed = 0;
      for (const event of chosen) {
        if (event?.document.state !== 'Parked') continue;
        if (await change(event, { state: 'Retrying', failures: 0, ...dueIn(0, clock()) })) replayed += 1;
      }
      return replayed;
    },
  };
}

/** Whether an event waits for a dependency, or for a newer release, rather than failing itself. */
export const isWaiting = (error: unknown): boolean => error instanceof Unavailable || error instanceof UnknownEvent;
