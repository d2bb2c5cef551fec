import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import type { Clock } from '../runtime/clock.ts';
import { atNext } from '../runtime/rounds.ts';
import { mayTryAt } from './breaker.ts';
import type { LoadedBreakers } from './breakers.ts';
import { AT_ONCE, isDueTrusted } from './delivery.ts';
import type { DeliveryQueue } from './queue.ts';

/** How often to look for retries and for deliveries that other processes have added. */
const POLL_INTERVAL_MS = 1_000;
/** How often to look for deliveries that a wrong clock made due too far ahead. */
const CORRECT_EVERY_MS = 60_000;
/** A clock set back by this much triggers that check at once. */
const SET_BACK_MS = 2_000;

/** Polls for registrations with due deliveries, and wakes their endpoints. */
export function createDuePoll(deps: {
  readonly queue: Pick<DeliveryQueue, 'waiting' | 'correctDue'>;
  readonly breakers: Pick<LoadedBreakers, 'state'>;
  readonly wake: (webhookId: string, isAsked: boolean) => void;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'error'>;
  readonly pollIntervalMs?: number | undefined;
}) {
  const { queue, breakers, wake, clock, logger, pollIntervalMs = POLL_INTERVAL_MS } = deps;
  let stopping = false;
  let polling: Promise<void> | undefined;
  let cancelPoll = () => {};
  let correctedAt = Number.NEGATIVE_INFINITY;
  /** Wall clock minus monotonic time at the last poll. */
  let offset = clock() - performance.now();

  /** Whether to look for deliveries that a wrong clock made due too far ahead: periodically, and when the clock was set back. */
  function isTimeToCorrect(): boolean {
    const now = performance.now();
    const before = offset;
    offset = clock() - now;
    if (before - offset < SET_BACK_MS && now - correctedAt < CORRECT_EVERY_MS) return false;
    correctedAt = now;
    return true;
  }

  /** Wakes every endpoint with a due delivery. @returns when the next one falls due, in milliseconds since the epoch */
  async function wakeDue(): Promise<number> {
    let next = Number.POSITIVE_INFINITY;
    const isCorrecting = isTimeToCorrect();
    for await (const delivery of queue.waiting()) {
      if (stopping) break;
      const { webhookId, due } = delivery;
      const isSuspect = isCorrecting || !isDueTrusted(delivery, clock());
      // One query per registration, up to ten thousand: yield to other work in between.
      if (isCorrecting) await nextTurn();
      const corrected = isSuspect && (await queue.correctDue(webhookId));
      const isAsked = due === AT_ONCE;
      const at = Math.max(corrected ? 0 : Date.parse(due), isAsked ? 0 : mayTryAt(breakers.state(webhookId), clock()));
      if (at <= clock()) wake(webhookId, isAsked);
      else next = Math.min(next, at);
    }
    return next;
  }

  /** Schedules the next poll after one that took so long. */
  function pollAgain(next: number, tookMs: number): void {
    if (stopping) return;
    const dueMs = Math.min(next - clock(), pollIntervalMs);
    // Polling takes at most a fifth of the time, however many registrations have pending deliveries.
    if (dueMs < pollIntervalMs || tookMs > pollIntervalMs / 5) {
      const timer = setTimeout(startPoll, Math.max(10, 4 * tookMs, dueMs));
      cancelPoll = () => clearTimeout(timer);
    } else cancelPoll = atNext(pollIntervalMs, startPoll);
  }

  async function poll(): Promise<void> {
    const startedAt = performance.now();
    const next = await wakeDue().catch((error: unknown) => {
      logger.error({ err: error }, 'Looking up due deliveries failed; retrying');
      return Number.POSITIVE_INFINITY;
    });
    pollAgain(next, performance.now() - startedAt);
  }

  const startPoll = () => {
    polling = poll();
  };

  return {
    /** Resolves after the first poll. @throws if that fails */
    async start() {
      const startedAt = performance.now();
      pollAgain(await wakeDue(), performance.now() - startedAt);
    },
    async stop() {
      stopping = true;
      cancelPoll();
      await polling;
    },
  };
}
