import type { BaseLogger } from 'pino';
import { bookings } from '../../projections/bookings.ts';
import type { BookingCommands } from '../commands/bookings.ts';
import type { CommandContext } from '../commands/command-handler.ts';
import { SYSTEM } from '../domain/account.ts';
import { endOf, expiryOf, MAX_RULE_CHANGE_MS } from '../domain/booking-moments.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { periodicJob } from '../event-loop/rounds.ts';
import { ending, expiring } from '../queries/due-bookings.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';

const PERIOD_MS = 1_000;
/** Rounds per query. A query also finds the bookings that fall due before the next one. */
const QUERY_EVERY_ROUNDS = 5;
/** How often to check whether changed time-zone rules make a booking due before its stored moment. */
const CHECK_RULES_EVERY_MS = 60_000;
/** Bookings of one kind handled in a round; the rest follow in the next. */
const ROUND = 500;

/**
 * Issues the timed commands: expires unanswered requests and completes approved bookings after their end
 * (docs/decisions/bookings.md). The stored moments only help to find bookings; the current time-zone rules decide whether one is
 * due (docs/decisions/time.md). One process at a time runs it. If two do for a moment, the decider ignores repeated commands.
 */
export function createScheduler(deps: {
  readonly bookings: BookingCommands;
  readonly readModels: ReadModels;
  readonly clock: Clock;
  /** Resolves to the clock's current problem, if any. The scheduler then does nothing. */
  readonly clockProblem: () => Promise<string | undefined>;
  readonly logger: Pick<BaseLogger, 'info' | 'error'>;
  /** The period of the rounds, in milliseconds. Default 1 s. */
  readonly periodMs?: number;
}) {
  const { readModels, clock, clockProblem, logger, periodMs = PERIOD_MS } = deps;
  const documents = readModels.collection(bookings);
  /** When the first booking that the last query has found falls due, in milliseconds since the epoch. */
  let nextDue = Number.NEGATIVE_INFINITY;

  /**
   * Handles all due bookings, if the clock can be trusted. Resolves to the number of bookings changed.
   * @param checkRules whether to examine bookings with future stored moments, too
   * @throws {AggregateError} with all failures, after the other bookings have been handled
   */
  async function runOnce(checkRules = true): Promise<number> {
    const now = clock();
    nextDue = Number.NEGATIVE_INFINITY;
    // Check the clock after reading it, so that the reading is covered.
    if ((await clockProblem()) !== undefined) return 0;
    const until = toTimestamp(now + (checkRules ? MAX_RULE_CHANGE_MS : QUERY_EVERY_ROUNDS * periodMs));
    const due = [
      { query: expiring(until), dueAt: expiryOf, act: deps.bookings.expire },
      { query: ending(until), dueAt: endOf, act: deps.bookings.complete },
    ];
    let changed = 0;
    let next = Number.POSITIVE_INFINITY;
    const failures: unknown[] = [];
    for (const { query, dueAt, act } of due) {
      let handled = 0;
      for await (const booking of documents.find(query)) {
        if (job.signal.aborted) return changed;
        if (handled === ROUND) {
          next = now;
          break;
        }
        if (dueAt(booking) > now) {
          next = Math.min(next, dueAt(booking));
          continue;
        }
        handled += 1;
        const context: CommandContext = { actor: SYSTEM, correlationId: `scheduler-${booking.bookingId}` };
        try {
          const outcome = await act(booking.bookingId, context);
          if ('events' in outcome) changed += outcome.events.length;
        } catch (error) {
          // A failing booking must not block the others.
          failures.push(error);
        }
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, `${failures.length} bookings could not be changed`);
    nextDue = next;
    return changed;
  }

  /** Why the last round failed, if it did. */
  let failure: string | undefined;
  let checkedRulesAt = Number.NEGATIVE_INFINITY;
  let rounds = 0;
  async function round(): Promise<void> {
    rounds += 1;
    if (rounds % QUERY_EVERY_ROUNDS !== 0 && clock() < nextDue) return;
    const checkRules = performance.now() - checkedRulesAt >= CHECK_RULES_EVERY_MS;
    if (checkRules) checkedRulesAt = performance.now();
    try {
      await runOnce(checkRules);
      if (failure !== undefined) logger.info({}, 'The scheduler works again');
      failure = undefined;
    } catch (error) {
      // Log each failure only once, because a round runs every second.
      if (failure !== String(error))
        logger.error({ err: error }, 'A scheduler round failed; trying again every second');
      failure = String(error);
    }
  }

  const job = periodicJob(periodMs, round);
  return { ...job, runOnce };
}
