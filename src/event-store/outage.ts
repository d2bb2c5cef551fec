import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import { within } from '../event-loop/within.ts';
import { LogUnavailable } from '../runtime/unavailable.ts';

/** Whether the log answers, as far as this process knows (docs/decisions/event-log.md). */
export type Outage = ReturnType<typeof watchOutage>;

export type OutageOptions = {
  readonly logger?: Pick<BaseLogger, 'warn'>;
};

/** A shorter outage is logged in one line. */
const REPORTED_AFTER_MS = 1_000;
const PROBE_EVERY_MS = 250;

/** @param ask rejects if the log does not answer */
export function watchOutage(ask: () => Promise<void>, closing: AbortSignal, { logger }: OutageOptions) {
  let since: number | undefined;
  let reason = '';

  async function probe(): Promise<void> {
    while (!closing.aborted) {
      try {
        return await ask();
      } catch (error) {
        reason = messageOf(error);
        await sleep(PROBE_EVERY_MS, undefined, { signal: closing }).catch(() => {});
      }
    }
  }

  async function follow(began: number): Promise<void> {
    let isReported = false;
    const report = () => {
      isReported = true;
      logger?.warn({ reason }, 'The event log does not answer; reads continue, commands wait');
    };
    const timer = setTimeout(report, REPORTED_AFTER_MS);
    await probe();
    clearTimeout(timer);
    since = undefined;
    if (closing.aborted) return;
    const milliseconds = Math.round(performance.now() - began);
    if (isReported) logger?.warn({ milliseconds }, 'The event log answers again');
    else logger?.warn({ milliseconds, reason }, 'The event log did not answer for a moment');
  }

  return {
    /** When the outage began (monotonic); undefined while the log answers. */
    since: (): number | undefined => since,
    /** Reports a call without an answer. A background probe then checks the log until it answers. */
    suspect(error: unknown, at = performance.now()): void {
      reason = messageOf(error);
      if (since !== undefined || closing.aborted) return;
      since = at;
      void follow(at);
    },
  };
}

/**
 * Resolves if the log answers.
 * @throws {LogUnavailable} if it does not answer in time, or the outage has already lasted that long
 */
export async function askLog(
  events: { readonly ping: () => Promise<void>; readonly outage: Outage },
  withinMs: number,
): Promise<void> {
  const began = performance.now();
  const since = events.outage.since();
  if (since !== undefined && began - since > withinMs) throw new LogUnavailable('The event log does not answer');
  await within(withinMs, events.ping()).catch((error: unknown) => {
    events.outage.suspect(error, began);
    throw new LogUnavailable('The event log does not answer', error);
  });
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
