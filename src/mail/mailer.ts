import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { gatherCalls } from '../event-loop/gathered-calls.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { type Poll, startPolling } from '../outbox/poll.ts';
import type { Clock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { createMadeAhead, type Made } from './made-ahead.ts';
import type { MailQueue } from './mail-queue.ts';
import {
  dateOf,
  isInDigest,
  type Mail,
  type MailAttempt,
  type MailRecord,
  messageIdOf,
  TOO_OLD,
} from './mail-record.ts';
import type { Compose, Message } from './new-mail.ts';
import { type Judged, outcomeOf, pauseAfter, type SendResult } from './outcome.ts';
import { isRefusing, judge, NO_REFUSALS } from './refusals.ts';
import type { MailSender } from './sender.ts';
import type { ServerState } from './server-state.ts';
import { MAIL_CAUSES, type MailCause } from './smtp-cause.ts';

/** Mails sent at the same time. Servers often allow a few connections of one client. */
export const CONNECTIONS = 4;
/** Mails per commit. */
const PAGE = 64;
/** Mails that were sent, or are being sent, whose outcome is not stored. If the process dies, they may be sent again. */
const UNRECORDED = 8 * CONNECTIONS;
/** Outcomes are stored together, at the earliest so long after the last ones. */
const RECORD_EVERY_MS = 20;
/** How long an attempt may take, also against a server that sends a byte from time to time. */
const ATTEMPT_WITHIN_MS = 10 * 60_000;
/** How long a stop waits for the attempts in flight before it breaks their connections. */
const STOP_WITHIN_MS = 3_000;
/** How long a mail waits whose text cannot be made now, or whose age is not known because the clock is wrong. */
const AGAIN_MS = 5_000;
/** How long to wait before an outcome that could not be stored is stored again. */
const STORE_AGAIN_MS = 1_000;

export type MailerDeps = {
  readonly queue: MailQueue;
  readonly compose: Compose;
  readonly sender: MailSender;
  readonly server: ServerState;
  /** The host in `Message-ID`. */
  readonly host: string;
  readonly clock: Clock;
  readonly clockProblem: () => Promise<string | undefined>;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
  /** Whether this process may start an attempt. */
  readonly isActive: () => boolean;
  /** Called with what came of each mail that was due. */
  readonly onOutcome: (outcome: string) => void;
  readonly pollIntervalMs?: number | undefined;
  readonly pauseAfter?: typeof pauseAfter | undefined;
};

/** What came of an attempt, which is to be recorded. */
type Attempted = {
  readonly attempt: MailAttempt;
  readonly judged: Judged;
  /** The mails that failed before it was known that the server refuses the service. */
  readonly reopened: readonly string[];
};

export type Mailer = ReturnType<typeof createMailer>;

/** Does something with each mail, the last one after all others. */
async function each(mails: readonly Mail[], act: (mail: Mail) => Promise<void>): Promise<void> {
  for await (const page of inPages(mails.slice(0, -1), PAGE)) await Promise.all(page.map(act));
  await Promise.all(mails.slice(-1).map(act));
}

/**
 * Sends due mails: load → make the text → send → record (docs/decisions/mail.md). While the server takes no mail, it is tried with one
 * mail at a time, and less and less often. One process at a time runs it.
 */
export function createMailer(deps: MailerDeps) {
  const { queue, compose, sender, server, host, clock, logger, pollIntervalMs: intervalMs } = deps;
  const pause = deps.pauseAfter ?? pauseAfter;
  const stopping = new AbortController();
  /** Breaks the attempts in flight. */
  const breaking = new AbortController();
  const ahead = createMadeAhead({ queue, make, changed: next, connections: CONNECTIONS, logger });
  const sending = new Set<Promise<void>>();
  const recording = new Set<Promise<void>>();
  /** Attempts in a row that have shown that the server takes no mail. */
  let failures = 0;
  /** When the last of them showed it. Monotonic, in milliseconds, here and below. */
  let failedAt = 0;
  let pausedUntil = 0;
  /** How long the last of them pauses all mail. */
  let pauseMs = 0;
  /** Why the server does not take all mail. `Unknown`: as another process has found. */
  let cause: MailCause | 'Unknown' | undefined;
  let refusals = NO_REFUSALS;
  let polling: Poll | undefined;

  /** What is done at the same time shares commands to the store. */
  const together = gatherCalls(
    async (acts: readonly (() => Promise<void>)[]) => new Map(acts.map((act) => [act, act()])),
    { restMs: () => RECORD_EVERY_MS },
  );

  const mayStart = (): boolean => !stopping.signal.aborted && deps.isActive() && performance.now() >= pausedUntil;

  /** Starts what may start now. Called after every change. */
  function next(): void {
    while (maySend()) {
      const first = ahead.take();
      if (first === undefined) break;
      run(sending, sendOne(first));
    }
    if (!mayStart()) return;
    if (failures === 0) ahead.makeMore();
    else if (sending.size + recording.size === 0) ahead.makeMore(1);
  }

  const maySend = (): boolean =>
    mayStart() &&
    sending.size < (failures === 0 ? CONNECTIONS : 1) &&
    sending.size + recording.size < (failures === 0 ? UNRECORDED : 1);

  /** Counts work, which must not reject, among that in progress, and starts more once it is done. */
  function run(among: Set<Promise<void>>, work: Promise<void>): void {
    const running = work.then(() => {
      among.delete(running);
      next();
    });
    among.add(running);
  }

  /** Sends a mail. The next one need not wait until its outcome is stored. */
  async function sendOne(made: Made): Promise<void> {
    const { due } = made;
    const attempted = await orLogged(due, () => attempt(made));
    if (attempted === undefined) ahead.end(due);
    else
      run(
        recording,
        orLogged(due, () => recordAll(made, attempted)).finally(() => ahead.end(due)),
      );
  }

  /** After an error the mail is still due, so the next poll finds it. */
  async function orLogged<R>({ document: { mailId, kind } }: Mail, act: () => Promise<R>): Promise<R | undefined> {
    try {
      return await act();
    } catch (error) {
      logger.error({ err: error, mailId, kind }, 'A mail could not be handled; retrying');
      return undefined;
    }
  }

  /** @returns undefined if there is nothing to be sent now */
  async function make(due: Mail): Promise<Made | undefined> {
    // It may have been read long ago.
    const mail = await queue.stillPending(due);
    if (mail === undefined) return undefined;
    const { document } = mail;
    if (document.notAfter <= toTimestamp(clock())) return giveUp(mail);
    const mails = isInDigest(mail) ? await queue.inDigest(document.userId) : [mail];
    const named = mails.at(-1)?.document;
    const message = named && (await messageOf(named, mails));
    if (named === undefined || message === undefined) return undefined;
    if (!('skipped' in message)) return { due, mails, named, message };
    deps.onOutcome('skipped');
    await each(mails, (one) => queue.end(one, { state: 'Skipped', reason: message.skipped }));
    return undefined;
  }

  /** Ends a mail that is too old, once it is known that the clock is right. */
  async function giveUp(mail: Mail): Promise<undefined> {
    if ((await deps.clockProblem()) !== undefined) return void (await queue.postpone(mail, AGAIN_MS));
    deps.onOutcome('expired');
    return void (await queue.end(mail, { state: 'Failed', reason: TOO_OLD }));
  }

  /** @returns undefined if it was broken off: what the server did is unknown, so the next process repeats it */
  async function attempt({ named, message }: Made): Promise<Attempted | undefined> {
    const at = toTimestamp(clock());
    const startedAt = performance.now();
    const result = await send(named, message);
    faultPoint('mail sent, not recorded');
    if (breaking.signal.aborted && result.outcome !== 'accepted') return undefined;
    const { judged, reopened, ...rest } = judge(refusals, { ...named, to: message.to }, result, clock());
    refusals = rest.refusals;
    pauseOrResume(judged, startedAt);
    return { attempt: { at, ...defined({ code: result.code }), response: result.response }, judged, reopened };
  }

  async function recordAll({ mails }: Made, { attempt: tried, judged, reopened }: Attempted): Promise<void> {
    await together(() => record(mails, tried, judged));
    await Promise.all(reopened.map((mailId) => queue.reopen(mailId, pauseMs)));
    await note(judged);
  }

  /**
   * Makes the message of a mail, or of a digest, which is named by its last mail.
   * @returns undefined if the message cannot be made now
   */
  async function messageOf(
    named: MailRecord,
    mails: readonly Mail[],
  ): Promise<Awaited<ReturnType<Compose>> | undefined> {
    const others = mails.slice(0, -1).map(({ document }) => document);
    try {
      return await compose(named, others);
    } catch (error) {
      if (!isUnavailable(error)) {
        const { mailId, kind } = named;
        logger.error({ err: error, mailId, kind }, 'The text of a mail could not be made; retrying');
        const failed: SendResult = { outcome: 'refused', isFinal: false, response: 'The text could not be made.' };
        await record(mails, { at: toTimestamp(clock()), response: failed.response }, failed);
      } else await each(mails, (one) => queue.postpone(one, AGAIN_MS));
      return undefined;
    }
  }

  function send(document: MailRecord, message: Message): Promise<SendResult> {
    const { mailId, userId } = document;
    const outgoing = { ...message, messageId: messageIdOf(mailId, host), date: dateOf(document, clock()), userId };
    return sender.send(outgoing, AbortSignal.any([breaking.signal, AbortSignal.timeout(ATTEMPT_WITHIN_MS)]));
  }

  /** Stores the outcome, however long that takes: the mails must not be sent again. */
  async function record(mails: readonly Mail[], attempted: MailAttempt, result: Judged): Promise<void> {
    const moment = { now: clock(), random: Math.random(), pause: pauseMs };
    await each(mails, (mail) => {
      const outcome = outcomeOf(mail.document, result, moment);
      deps.onOutcome(result.outcome === 'refused' && outcome.state === 'Pending' ? 'deferred' : result.outcome);
      return untilStored(mail, () => queue.complete(mail, [attempted], outcome));
    });
  }

  async function untilStored({ document: { mailId } }: Mail, store: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await store();
      } catch (error) {
        if (breaking.signal.aborted) throw error;
        logger.error({ err: error, mailId }, 'The outcome of a mail could not be stored; retrying');
        await sleep(STORE_AGAIN_MS, undefined, { signal: breaking.signal }).catch(() => {});
      }
    }
  }

  /** Pauses while the server takes no mail. */
  function pauseOrResume({ outcome }: Judged, startedAt: number): void {
    if (outcome !== 'unreachable' && outcome !== 'held') {
      failures = 0;
      return;
    }
    // Attempts that were in flight when the last one failed tell nothing new.
    if (startedAt < failedAt) return;
    failures += 1;
    failedAt = performance.now();
    pauseMs = pause(failures);
    // The first refusal may be about its mail alone, which the next mail shows at once.
    if (outcome !== 'held' || failures > 1) pausedUntil = failedAt + pauseMs;
  }

  /** Notes for operators and other processes why the server does not take all mail. */
  async function note(judged: Judged): Promise<void> {
    const isAway = judged.outcome === 'unreachable' || judged.outcome === 'held';
    const because = isAway ? judged.cause : isRefusing(refusals, clock()) ? 'RefusesSome' : undefined;
    if (because !== undefined) {
      if (because !== cause) {
        const { response: problem, code } = judged;
        logger.warn({ cause: MAIL_CAUSES[because], problem, code }, 'The mail server does not take all mail; retrying');
      }
      cause = because;
      return server.isDown(because);
    }
    if (cause === undefined) return;
    cause = undefined;
    logger.info('The mail server takes mail again');
    await server.isUp();
  }

  /** Looks for due mails. When the next one is due is not known. */
  async function look(): Promise<number> {
    ahead.readAgain();
    next();
    return Number.POSITIVE_INFINITY;
  }

  return {
    async start(): Promise<void> {
      await queue.correctDue();
      // The next attempt shows why.
      if ((await server.outage()) !== undefined) [failures, cause] = [1, 'Unknown'];
      polling = await startPolling({ look, what: 'mails', logger, intervalMs });
    },

    /** Call when a mail has just been stored. @param isFirst whether it goes out before others */
    wake(isFirst: boolean): void {
      ahead.stored(isFirst);
      next();
    },

    /** Starts no further attempts, waits for those in flight, and breaks what takes too long. */
    async stop(): Promise<void> {
      stopping.abort();
      const timer = setTimeout(() => breaking.abort(), STOP_WITHIN_MS);
      await Promise.all([polling?.stop(), ahead.settled(), ...sending]);
      await Promise.all(recording);
      clearTimeout(timer);
    },
  };
}
