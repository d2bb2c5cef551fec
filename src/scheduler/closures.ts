import type { BaseLogger } from 'pino';
import { type ClosureDocument, closures } from '../../projections/closures.ts';
import type { ClosureCommands } from '../commands/closures.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { SYSTEM } from '../domain/account.ts';
import { periodicJob } from '../event-loop/rounds.ts';
import type { ReadModels } from '../read-models/read-models.ts';

/** Interval between two looks, in milliseconds. */
const PERIOD_MS = 5_000;

const working = declareQuery(
  closures,
  (): Find<ClosureDocument> => ({ where: { state: 'Working' }, sort: [{ field: 'addedAt' }] }),
  [],
);

/**
 * Finishes closed times that a process began and left: those that have not got on between two looks. One process at a time runs it. Should
 * the other one still be working, both do the same, and the days ignore what is repeated (docs/decisions/bookings.md).
 */
export function createClosureFollowUp(deps: {
  readonly closures: Pick<ClosureCommands, 'finish'>;
  readonly readModels: ReadModels;
  readonly logger: Pick<BaseLogger, 'error' | 'info'>;
  /** Default {@link PERIOD_MS}. */
  readonly periodMs?: number;
}) {
  const { readModels, logger, periodMs = PERIOD_MS } = deps;
  /** How far each was at the last look. */
  let before = new Map<string, number>();

  async function finishAll(): Promise<void> {
    const now = new Map<string, number>();
    const failures: unknown[] = [];
    for await (const { closureId, closedDays, openedDays } of readModels.collection(closures).find(working())) {
      const done = closedDays + openedDays;
      now.set(closureId, done);
      if (before.get(closureId) !== done || job.signal.aborted) continue;
      try {
        await deps.closures.finish(closureId, { actor: SYSTEM, correlationId: `scheduler-${closureId}` });
        logger.info({ closureId }, 'Finished a closed time that another process had left');
      } catch (error) {
        // A failing one must not block the others.
        failures.push(error);
      }
    }
    before = now;
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} closed times could not be finished`);
  }

  const job = periodicJob(periodMs, () =>
    finishAll().catch((error: unknown) => logger.error({ err: error }, 'Closed times are not finished; trying again')),
  );
  return job;
}
