import type { BaseLogger } from 'pino';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { Recorded } from '../domain/events.ts';
import { knownEvent } from '../domain/known-event.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import { inRounds } from '../event-loop/rounds.ts';
import {
  type Consumer,
  type EventStore,
  LOG_START,
  logEnd,
  type Position,
  type StoredEvent,
} from '../event-store/event-store.ts';
import { createHandling } from '../event-store/handling.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { type FailedEvents, isWaiting } from './failed-events.ts';
import { advanceMarks, type OutboxRole, readMarks } from './marks.ts';
import { startRetries } from './retries.ts';

/** How long an event waits for the read models before it is handled again. A stop waits as long. */
const READ_MODEL_WAIT_MS = 3_000;
/** After so many waits in vain, another process should try: perhaps the read models of its release are kept up to date. */
const STUCK_AFTER_WAITS = 3;
/** Events of one group in progress, most of which wait for a commit. Of the log behind the mark, it is a batch. */
const CONCURRENCY = 256;
/** How often the marks are stored. After a kill, the events handled since are handled again. */
const MARK_EVERY_MS = 1_000;

/** Timing; the defaults suit production. */
export type OutboxTuning = {
  readonly pollIntervalMs?: number;
  readonly readModelWaitMs?: number;
  /** How often the marks are stored. */
  readonly markEveryMs?: number;
  /** The pauses between tries of an event that fails. */
  readonly failureDelaysMs?: readonly number[];
};

export type FollowKindsDeps = {
  readonly events: EventStore;
  readonly documents: Pick<DocumentStore, 'open' | 'ping'>;
  readonly readModels: Pick<ReadModels, 'waitFor'>;
  readonly failedEvents: FailedEvents;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  readonly role: OutboxRole;
  /** Kinds of events. Each has a mark. */
  readonly kinds: readonly string[];
  /** The consumer groups that hand them out as well. */
  readonly groups: readonly { readonly kind: string; readonly group: string }[];
  /** The read models that `handle` reads. Each event waits until they have passed it. */
  readonly reads: readonly { readonly name: string }[];
  /**
   * Stores what an event leads to. An event that comes again must add nothing.
   * @throws {Unavailable} if a dependency is unavailable. Any other error is a failure
   */
  readonly handle: (event: Recorded) => Promise<void>;
  /** Resolves if everything that `handle` needs besides the stores is available. */
  readonly ping: () => Promise<void>;
  readonly tuning?: OutboxTuning;
};

export type FanOut = Consumer & {
  /** Whether the read models of this process have lagged behind the events for long. */
  isStuck(): boolean;
};

/**
 * Makes the records of every event of some kinds. The log is followed from the mark of the role: what has no records yet is handled, and
 * only then the mark moves. Consumer groups hand out most events, too, but may lose some (docs/decisions/outbox.md). An event is done once
 * `handle` has stored what it leads to, or once its failure is stored. Waiting never counts as a failure of the event: while its
 * dependencies are unavailable, it is tried again.
 */
export async function followKinds(deps: FollowKindsDeps): Promise<FanOut> {
  const { events, documents, readModels, reads, failedEvents, role, kinds, groups, ping, logger } = deps;
  const { readModelWaitMs = READ_MODEL_WAIT_MS, markEveryMs = MARK_EVERY_MS, pollIntervalMs } = deps.tuning ?? {};
  let marks = await readMarks(documents, role);
  /** Since when the read models have lagged behind an event (monotonic, ms). */
  let behindSince: number | undefined;
  /** Events whose dependencies were unavailable before, read models excepted: the next time only the event waits. */
  const unavailableBefore = createLruCache<string, true>(10_000);
  const lowestMark = () => kinds.map((kind) => marks[kind] ?? LOG_START).toSorted()[0] ?? LOG_START;
  /** Every event of the kinds up to there is handled. */
  let handledTo = lowestMark();
  /** The events behind that which are handled, or being handled. */
  const begun = new Map<Position, Promise<void>>();
  const closing = new AbortController();
  const handling = createHandling(closing.signal, (error) => {
    if (!(error instanceof Behind))
      logger.warn({ err: error, role }, 'The log could not be followed from the mark; retrying');
  });

  const isMarked = ({ type, position }: StoredEvent) => position <= handledTo || position <= (marks[type] ?? LOG_START);

  /** @throws {Unavailable} if a dependency is unavailable. Any other error is a failure. */
  async function fanOut(stored: StoredEvent): Promise<void> {
    const event: Recorded = knownEvent(stored);
    const { position } = event;
    const startedAt = performance.now();
    const hasPassed = await readModels.waitFor(position, { projections: reads, timeoutMs: readModelWaitMs });
    behindSince = hasPassed ? undefined : (behindSince ?? startedAt);
    if (!hasPassed) throw new Behind(`The read models have not reached position ${position} yet`);
    await deps.handle(event);
  }

  /** @throws if the event has to be handled again */
  async function handle(stored: StoredEvent): Promise<void> {
    try {
      await fanOut(stored);
    } catch (error) {
      if (error instanceof Behind) throw error;
      if (error instanceof Unavailable && !(unavailableBefore.has(stored.id) && (await isAvailable()))) {
        unavailableBefore.set(stored.id, true);
        throw error;
      }
      // The dependencies are back but this event still fails, so only this event must wait.
      await failedEvents.failed(stored, error);
      if (isWaiting(error)) return;
      const { id: eventId, type } = stored;
      logger.error({ err: error, eventId, type }, 'An event could not be fanned out; retrying');
    }
  }

  /** Handles an event once, though a group hands it out and the log has it behind the mark. */
  async function handleOnce(stored: StoredEvent): Promise<void> {
    if (isMarked(stored)) return;
    const { position } = stored;
    const handled = begun.getOrInsertComputed(position, () => handle(stored));
    await handled.catch((error: unknown) => {
      if (begun.get(position) === handled) begun.delete(position);
      throw error;
    });
  }

  /** Handles what the groups have not handed out yet, until it is closed. */
  async function followLog(): Promise<void> {
    for await (const batch of events.subscribe({ after: handledTo, types: kinds, signal: closing.signal })) {
      const isHandled = await Promise.all(batch.events.map((event) => handling(() => handleOnce(event))));
      if (isHandled.includes(false)) return;
      handledTo = batch.position;
      for (const position of begun.keys()) if (position <= handledTo) begun.delete(position);
    }
  }

  let isFailing = false;
  async function storeMarks(): Promise<void> {
    try {
      // EventStoreDB also reports parts of the log with events of others. A mark stays within ours, so that it can be compared with the end.
      const to = [handledTo, await logEnd(events)].toSorted()[0] ?? LOG_START;
      if (to <= lowestMark()) return;
      marks = await advanceMarks(documents, role, Object.fromEntries(kinds.map((kind) => [kind, to])));
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ err: error, role }, 'The marks could not be stored; retrying');
      isFailing = true;
    }
  }

  let checking: Promise<boolean> | undefined;
  /** Whether the dependencies that every event needs are available. Events that wait share a check. */
  function isAvailable(): Promise<boolean> {
    checking ??= Promise.all([documents.ping(), events.ping(), ping()])
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        checking = undefined;
      });
    return checking;
  }

  const retries = startRetries({ events, failedEvents, fanOut, logger, pollIntervalMs });
  const following = handling(followLog);
  const marking = inRounds(markEveryMs, closing.signal, storeMarks);
  const consumers = await Promise.all(
    groups.map(({ kind, group }) =>
      events.consume(
        group,
        { types: [kind], after: () => marks[kind] ?? LOG_START, concurrency: CONCURRENCY },
        handleOnce,
      ),
    ),
  );
  return {
    isStuck: () => behindSince !== undefined && performance.now() - behindSince > STUCK_AFTER_WAITS * readModelWaitMs,
    async close() {
      closing.abort();
      await Promise.all([retries.close(), following, marking, ...consumers.map((consumer) => consumer.close())]);
      await storeMarks();
    },
  };
}

/** The read models lag. */
class Behind extends Unavailable {}
