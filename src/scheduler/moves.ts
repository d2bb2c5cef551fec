import type { BaseLogger } from 'pino';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { MoveCommands } from '../commands/booking-moves.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { SYSTEM } from '../domain/account.ts';
import type { BookingId } from '../domain/ids.ts';
import { periodicJob } from '../event-loop/rounds.ts';
import type { ReadModels } from '../read-models/read-models.ts';

/** Interval between two looks, in milliseconds. A booking holds both hours until its move is finished. */
const PERIOD_MS = 5_000;

const unfinished = declareQuery(
  bookings,
  (): Find<BookingDocument> => ({ where: { isMoving: 'yes' }, sort: [{ field: 'movesSince' }] }),
  [],
);

/**
 * Finishes moves that a process agreed to and left: those seen at two looks. One process at a time runs it. Should the other one still be
 * working, both do the same, and the days ignore what is repeated (docs/decisions/moves.md).
 */
export function createMoveFollowUp(deps: {
  readonly moves: Pick<MoveCommands, 'finish'>;
  readonly readModels: ReadModels;
  readonly logger: Pick<BaseLogger, 'error' | 'info'>;
  /** Default {@link PERIOD_MS}. */
  readonly periodMs?: number;
}) {
  const { readModels, logger, periodMs = PERIOD_MS } = deps;
  let before: ReadonlySet<BookingId> = new Set();

  async function finishAll(): Promise<void> {
    const now = new Set<BookingId>();
    const failures: unknown[] = [];
    for await (const { bookingId } of readModels.collection(bookings).find(unfinished())) {
      now.add(bookingId);
      if (!before.has(bookingId) || job.signal.aborted) continue;
      try {
        await deps.moves.finish(bookingId, { actor: SYSTEM, correlationId: `scheduler-${bookingId}` });
        logger.info({ bookingId }, 'Finished a move of a booking that another process had left');
      } catch (error) {
        // A failing one must not block the others.
        failures.push(error);
      }
    }
    before = now;
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} moves could not be finished`);
  }

  const job = periodicJob(periodMs, () =>
    finishAll().catch((error: unknown) => logger.error({ err: error }, 'Moves are not finished; trying again')),
  );
  return job;
}
