import type { BaseLogger } from 'pino';
import type { PhotoCommands } from '../commands/photos.ts';
import { periodicJob } from '../event-loop/rounds.ts';

/** Interval between two rounds, in milliseconds. */
const PERIOD_MS = 10 * 60_000;

/** Removes the bytes of photos that no room and no house has any more, if the clock can be trusted. One process at a time runs it. */
export function createPhotoSweep(deps: {
  readonly photos: Pick<PhotoCommands, 'removeUnnamed'>;
  /** Resolves to the clock's current problem, if any. */
  readonly clockProblem: () => Promise<string | undefined>;
  readonly logger: Pick<BaseLogger, 'error' | 'info'>;
}) {
  async function sweep(): Promise<void> {
    if ((await deps.clockProblem()) !== undefined) return;
    const removed = await deps.photos.removeUnnamed();
    if (removed > 0) deps.logger.info({ removed }, 'Removed photos that are no longer used');
  }

  return periodicJob(PERIOD_MS, () =>
    sweep().catch((error: unknown) => deps.logger.error({ err: error }, 'Unused photos are not removed; trying again')),
  );
}
