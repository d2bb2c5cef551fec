import type { Logger } from 'pino';
import { inRounds } from '../event-loop/rounds.ts';

/** Users, grants, clients and invitations: their records may hold changes that are not in the log yet. */
export type Changing = readonly { finishChanges(): Promise<void> }[];

/** Interval between two runs, in milliseconds. The first run comes after it too, so the start does not wait. */
const PERIOD_MS = 5_000;

/**
 * Finishes changes to users, grants, clients and invitations that a process left unfinished, and appends them to the log (docs/decisions/accounts.md).
 * One process at a time runs it.
 */
export function createChangeFollowUp(deps: {
  readonly changing: Changing;
  readonly logger: Pick<Logger, 'error'>;
  /** Default {@link PERIOD_MS}. */
  readonly periodMs?: number;
}): { start(): void; stop(): Promise<void> } {
  const { changing, logger, periodMs = PERIOD_MS } = deps;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  async function finishAll(): Promise<void> {
    for (const { finishChanges } of changing)
      await finishChanges().catch((error: unknown) =>
        logger.error({ err: error }, 'Changes to users, apps, clients or invitations are not finished; trying again'),
      );
  }

  return {
    start() {
      running = inRounds(periodMs, stopping.signal, finishAll);
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
