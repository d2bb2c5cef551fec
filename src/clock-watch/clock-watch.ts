import type { BaseLogger } from 'pino';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import type { OperatedEventStore } from '../event-store/event-store.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { machineTime, type SteadyClock } from '../runtime/steady-clock.ts';
import { createEngineClocks } from './engine-clocks.ts';
import { openMachineClock } from './machine-clock.ts';

const CHECK_EVERY_MS = 5_000;

export type ClockWatch = Awaited<ReturnType<typeof openClockWatch>>;

/**
 * Checks whether the clock of this machine can be trusted (docs/decisions/time.md). The comparison ignores `CLOCK_SHIFT`.
 * @param deps.clockShift the shift of this process, in milliseconds; a forward one is stored, because its events are ahead of the clock
 */
export async function openClockWatch(deps: {
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  readonly clockShift: number;
  /** Whether the engines run on this machine. They then share its clock, so comparing with them proves nothing. */
  readonly sameMachine: boolean;
  readonly logger: Pick<BaseLogger, 'error' | 'warn'>;
  readonly wall?: Clock;
  readonly steady?: SteadyClock;
}) {
  const { events, documents, clockShift, sameMachine, logger, wall = systemClock(), steady = machineTime } = deps;
  const compareWithEngines = createEngineClocks({
    engines: [
      { name: 'EventStoreDB', now: () => events.now() },
      { name: 'MongoDB', now: () => documents.now() },
    ],
    wall,
    steady,
  });
  const machine = await openMachineClock({ documents, events, wall, steady });
  if (clockShift > 0) await machine.noteShift(clockShift);

  let problem: string | undefined;
  let hasChecked = false;
  let timer: NodeJS.Timeout | undefined;
  let checking: Promise<unknown> = Promise.resolve();

  async function checkNow(): Promise<string | undefined> {
    const before = problem;
    try {
      const compared = await compareWithEngines();
      if (compared === undefined) problem = (await machine.check()).problem;
      else if (compared.problem !== undefined || !sameMachine) problem = compared.problem;
      else problem = (await machine.check({ lastEvent: false })).problem;
      hasChecked = true;
    } catch (error) {
      // The stores are unavailable, so no timed job can run anyway.
      logger.warn({ err: error }, 'The clock could not be checked');
      if (!hasChecked) return 'The clock of this machine could not be checked yet';
    }
    if (before === undefined && problem !== undefined)
      logger.error({ clock: problem }, `${problem}. Requests are answered, but timed jobs are paused`);
    if (before !== undefined && problem === undefined) logger.warn('The clock of this machine is trusted again');
    return problem;
  }

  /**
   * Checks the clock. Resolves to a sentence with the problem, if there is one. Checks run one after another and are never shared, because
   * each caller needs a result from after its call.
   */
  function check(): Promise<string | undefined> {
    const next = checking.then(checkNow);
    checking = next;
    return next;
  }

  return {
    check,
    /** The result of the last check. */
    problem: (): string | undefined => problem,
    /** Declares the clock to be right for every process on this machine. Resolves to false if the clocks of remote engines decide. */
    async accept(): Promise<boolean> {
      if (!sameMachine && (await compareWithEngines()) !== undefined) return false;
      await machine.accept();
      return true;
    },
    /** Checks now and every few seconds. */
    async start(): Promise<void> {
      await check();
      timer = setInterval(check, CHECK_EVERY_MS).unref();
    },
    stop: (): void => clearInterval(timer),
  };
}
