import type { Collection, DocumentStore, Find, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Position, StoredEvent } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import type { OutboxRole } from './marks.ts';
import { dueIn, isDueTrusted } from './progress.ts';

/** An event that could not be turned into deliveries, or into mails (docs/decisions/webhook-deliveries.md). */
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

  /** The state of an event after this many failures. */
  function afterFailure(failures: number): Pick<FailedEvent, 'state' | 'due' | 'delayMs'> {
    const delayMs = delaysMs[failures - 1];
    return delayMs === undefined
      ? { state: 'Parked', ...dueIn(0, clock()) }
      : { state: 'Retrying', ...dueIn(delayMs, clock()) };
  }

  function unhandled({ id, type, stream, revision, position }: StoredEvent, error: unknown) {
    const failingSince = toTimestamp(clock());
    return { eventId: id, type, stream, revision, position, reason: reasonOf(error), failingSince };
  }

  /** The due events, longest due first. */
  async function due(limit: number): Promise<Stored<FailedEvent>[]> {
    const now = clock();
    const retrying = await Array.fromAsync(collection.find(inState('Retrying', limit)));
    return retrying.filter(({ document }) => Date.parse(document.due) <= now || !isDueTrusted(document, now));
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
     * Records the first failure of an event; keeps an existing record.
     * @throws if the document store is unavailable
     */
    async failed(event: StoredEvent, error: unknown): Promise<void> {
      await collection.insert(event.id, { ...unhandled(event, error), failures: 1, ...afterFailure(1) });
    },

    /** Records that an event has to wait, without counting it. */
    async postponed(event: StoredEvent, error: unknown): Promise<void> {
      const wait = { failures: 0, state: 'Retrying', ...dueIn(WAIT_MS, clock()) } as const;
      await collection.insert(event.id, { ...unhandled(event, error), ...wait });
    },

    due,

    async failedAgain(event: Stored<FailedEvent>, error: unknown): Promise<FailedEvent | undefined> {
      const failures = event.document.failures + 1;
      return change(event, { failures, reason: reasonOf(error), ...afterFailure(failures) });
    },

    async postponedAgain(event: Stored<FailedEvent>, error: unknown): Promise<void> {
      await change(event, { reason: reasonOf(error), ...dueIn(WAIT_MS, clock()) });
    },

    /** Call once its deliveries are stored. */
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

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
