import type { Logger } from 'pino';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { BookingCommands } from '../commands/bookings.ts';
import type { CommandContext } from '../commands/command-handler.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { SYSTEM } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';

export type Scheduler = {
  /**
   * Does what is due now. Resolves to the number of bookings changed.
   * @throws {AggregateError} with all failures, after everything else has been done
   */
  runOnce(): Promise<number>;
  start(): void;
  /** Waits for the current round. */
  stop(): Promise<void>;
};

const PERIOD_MS = 1_000;
/** Bookings of one kind handled in a round; the rest follow in the next. */
const ROUND = 500;

/** Unanswered requests that are due to expire, longest overdue first. */
const expiring = declareQuery(
  bookings,
  (now: Timestamp): Find<BookingDocument> => ({
    where: { status: 'Pending', expiresAt: { to: now } },
    sort: [{ field: 'expiresAt' }],
    limit: ROUND,
  }),
  [toTimestamp(0)],
);

/** Approved bookings whose event has ended, earliest end first. */
const ending = declareQuery(
  bookings,
  (now: Timestamp): Find<BookingDocument> => ({
    where: { status: 'Approved', endsAt: { to: now } },
    sort: [{ field: 'endsAt' }],
    limit: ROUND,
  }),
  [toTimestamp(0)],
);

/**
 * Turns time passing into commands: unanswered requests expire, and approved bookings whose end has passed are completed
 * (docs/decisions/expiry-and-completion.md). Any number of processes may run it: the decider appends nothing if there is
 * nothing left to do.
 */
export function createScheduler(deps: {
  readonly bookings: BookingCommands;
  readonly readModels: ReadModels;
  readonly clock: Clock;
  readonly logger: Logger;
}): Scheduler {
  const { readModels, clock, logger } = deps;
  const documents = readModels.collection(bookings);
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<unknown> = Promise.resolve();
  let stopped = false;

  async function runOnce(): Promise<number> {
    const now = toTimestamp(clock());
    const due = [
      { query: expiring(now), act: deps.bookings.expire },
      { query: ending(now), act: deps.bookings.complete },
    ];
    let changed = 0;
    const failures: unknown[] = [];
    for (const { query, act } of due) {
      for await (const { document } of documents.find(query)) {
        if (stopped) return changed;
        const context: CommandContext = { actor: SYSTEM, correlationId: `scheduler-${document.bookingId}` };
        try {
          const outcome = await act(document.bookingId, context);
          if ('events' in outcome) changed += outcome.events.length;
        } catch (error) {
          // A booking that cannot be changed must not block the others.
          failures.push(error);
        }
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} bookings could not be changed`);
    return changed;
  }

  const next = () => {
    timer = setTimeout(() => {
      round = runOnce()
        .catch((error: unknown) => logger.error({ err: error }, 'Scheduler round failed; trying again'))
        .finally(() => {
          if (!stopped) next();
        });
    }, PERIOD_MS);
  };

  return {
    runOnce,
    start: next,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await round;
    },
  };
}
