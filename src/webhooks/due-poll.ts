import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import { untilNext } from '../event-loop/rounds.ts';
import { isDueTrusted } from '../outbox/due.ts';
import type { Clock } from '../runtime/clock.ts';
import { mayTryAt } from './breaker.ts';
import type { LoadedBreakers } from './breakers.ts';
import { DUE_NOW } from './delivery.ts';
import type { DeliveryQueue } from './queue.ts';

/** How often to look for retries and for deliveries that other processes have added. */
const POLL_INTERVAL_MS = 1_000;

/** Polls for registrations with due deliveries, and wakes their endpoints. */
export function createDuePoll(deps: {
  readonly queue: Pick<DeliveryQueue, 'waiting' | 'correctDue'>;
  readonly breakers: Pick<LoadedBreakers, 'state'>;
  readonly wake: (webhookId: string, isRequested: boolean) => void;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'error'>;
  readonly pollIntervalMs?: number | undefined;
}) {
  const { queue, breakers, wake, clock, logger, pollIntervalMs = POLL_INTERVAL_MS } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let polling: Promise<void> | undefined;

  /** Wakes every endpoint with a due delivery. @returns how long to wait for the next poll, in milliseconds */
  async function wakeDue(): Promise<number> {
    const startedAt = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for await (const delivery of queue.waiting()) {
      if (signal.aborted) break;
      const { webhookId, due } = delivery;
      const isCorrected = !isDueTrusted(delivery, clock()) && (await queue.correctDue(webhookId));
      const isRequested = due === DUE_NOW;
      const dueAt = isCorrected ? 0 : Date.parse(due);
      const now = clock();
      const at = isRequested ? 0 : Math.max(dueAt, mayTryAt(breakers.state(webhookId), now));
      if (at <= now) wake(webhookId, isRequested);
      else next = Math.min(next, at);
    }
    // Polling takes at most a fifth of the time, however many registrations have pending deliveries.
    return Math.max(10, 4 * (performance.now() - startedAt), Math.min(next - clock(), pollIntervalMs));
  }

  async function keepPolling(firstPauseMs: number): Promise<void> {
    for (let pauseMs = firstPauseMs; !signal.aborted; ) {
      // The usual pause shares its wake-up with other periodic jobs; any other ends when a delivery becomes due, or limits the load.
      if (pauseMs === pollIntervalMs) await untilNext(pollIntervalMs, signal);
      else await sleep(pauseMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      pauseMs = await wakeDue().catch((error: unknown) => {
        logger.error({ err: error }, 'Looking up due deliveries failed; retrying');
        return pollIntervalMs;
      });
    }
  }

  return {
    /** Resolves after the first poll. @throws if that fails */
    async start() {
      polling = keepPolling(await wakeDue());
    },
    async stop() {
      stopping.abort();
      await polling;
    },
  };
}
