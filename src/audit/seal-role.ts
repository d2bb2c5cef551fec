import type { BaseLogger } from 'pino';
import { inRounds } from '../event-loop/rounds.ts';
import { LOG_START, type Position } from '../event-store/event-store.ts';
import { obtainSealKey } from './seal-key.ts';
import { openSealRecords } from './seal-records.ts';
import { openSealing, type Sealing, type SealingDeps } from './sealing.ts';

const PERIOD_MS = 60_000;

/** Seals the log every minute with new events. The key is created at once, so that auditors can pin it and every backup has it. */
export function createSealRole(
  deps: SealingDeps & {
    readonly logger: Pick<BaseLogger, 'error' | 'info'>;
    /** Interval between two checks, in milliseconds. Default one minute. */
    readonly periodMs?: number;
  },
) {
  const { events, logger, periodMs = PERIOD_MS } = deps;
  const stopping = new AbortController();
  let sealing: Sealing | undefined;
  let running: Promise<void> | undefined;
  /** The position up to which the log is sealed, as far as this process knows. */
  let sealedUpTo: Position = LOG_START;
  let failure: string | undefined;

  async function sealNewEvents(): Promise<void> {
    // Read before sealing, so that later events trigger the next seal.
    const end = (await events.lastEvent())?.position ?? LOG_START;
    sealing ??= await openSealing(deps);
    const { seal, copyProblems } = sealing;
    if (end === sealedUpTo && copyProblems.size === 0) return;
    await seal({ signal: stopping.signal });
    if (copyProblems.size === 0) sealedUpTo = end;
  }

  async function round(): Promise<void> {
    try {
      await sealNewEvents();
      if (failure !== undefined) logger.info({}, 'The log is being sealed again');
      failure = undefined;
    } catch (error) {
      if (stopping.signal.aborted) return;
      // Log a repeated failure once.
      if (failure !== String(error)) logger.error({ err: error }, 'The log could not be sealed; trying again');
      failure = String(error);
    }
  }

  const makeKey = async () => obtainSealKey(await openSealRecords(deps.documents), deps);

  return {
    start() {
      // If that fails, the first seal creates it.
      running = makeKey()
        .catch(() => {})
        .then(() => inRounds(periodMs, stopping.signal, round));
    },
    /** Waits for the seal that is being written. */
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
