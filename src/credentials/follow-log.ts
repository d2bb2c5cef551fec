import type { Logger } from 'pino';
import { periodicJob } from '../event-loop/rounds.ts';
import { type EventStore, logEnd } from '../event-store/event-store.ts';
import { addMissingRecords, RECORDED_TYPES, type RecordsDeps } from './records.ts';

/** How often to look whether this process keeps the read models up to date, and the pause after a failure. */
const PERIOD_MS = 500;

/**
 * Adds missing records of credentials as soon as their event is in the log, because a process may die in between. Runs in the process that
 * keeps the read models up to date; a second one would do no harm.
 */
export function createLogFollower({
  logger,
  projector,
  ...deps
}: RecordsDeps & {
  readonly events: Pick<EventStore, 'subscribe'>;
  readonly projector: { isActive(): boolean };
  readonly logger: Pick<Logger, 'error'>;
}) {
  async function follow(): Promise<void> {
    if (!projector.isActive()) return;
    const after = await logEnd(deps.events);
    await addMissingRecords(deps);
    for await (const { events } of deps.events.subscribe({ after, types: RECORDED_TYPES, signal: job.signal }))
      if (events.length > 0) await addMissingRecords(deps);
  }

  const job = periodicJob(PERIOD_MS, () =>
    follow().catch((error: unknown) =>
      logger.error({ err: error }, 'Records of keys, calendar feeds and webhooks cannot be added; trying again'),
    ),
  );
  return job;
}
