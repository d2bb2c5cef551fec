import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import type { Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Clock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { gatherCalls } from '../runtime/gathered-calls.ts';
import { inPages } from '../runtime/in-pages.ts';
import { inRounds } from '../runtime/rounds.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import type { MailQueue } from './mail-queue.ts';
import { dateOf, type MailAttempt, type MailRecord, messageIdOf, TOO_OLD } from './mail-record.ts';
import type { Compose, Message } from './new-mail.ts';
import { type Judged, outcomeOf, pauseAfter, type SendResult } from './outcome.ts';
import { isRefusing, judge, NO_REFUSALS } from './refusals.ts';
import type { MailSender } from './sender.ts';
import type { ServerState } from './server-state.ts';
import { REFUSES_SOME } from './smtp-cause.ts';

type Mail = Stored<MailRecord>;

/** A mail that is ready to be sent, or a digest of several, which the last one names. */
type Made = {
  /** The mail that was due. */
  readonly due: Mail;
  readonly mails: readonly Mail[];
  readonly named: MailRecord;
  readonly message: Message;
  /** Monotonic, in milliseconds. */
  readonly madeAt: number;
};

/** Mails sent at the same time. Servers often allow a few connections of one client. */
export const CONNECTIONS = 4;
/** How often to look for retries and for mails that other processes have stored. */
const POLL_INTERVAL_MS = 1_000;
/** Mails read at once. As many are made ahead at most. */
const PAGE = 64;
/** How long a mail that was made may wait for a connection. Then it is made again, because what it says may have changed. */
const FRESH_MS = 250;
/** Mails that were sent, or are being sent, whose outcome is not stored. If the process dies, they may be sent again. */
const UNRECORDED = 8 * CONNECTIONS;
/** Outcomes are stored together, at the earliest so long after the last ones. */
const RECORD_EVERY_MS = 20;
/** Digests that are made and sent at the same time. They take longest, so there are fewer of them than connections. */
const DIGESTS = CONNECTIONS - 1;
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

export type Mailer = ReturnType<typeof createMailer>;

const isInDigest = ({ document }: Mail): boolean => document.inDigest === true;

/** Does something with each mail, the last one after all others. */
async function each(mails: readonly Mail[], act: (mail: Mail) => Promise<void>): Promise<void> {
  for await (const page of inPages(mails.slice(0, -1), PAGE)) await Promise.all(page.map(act));
  await Promise.all(mails.slice(-1).map(act));
}

/**
 * Sends due mails: load → make the text → send → record (docs/decisions/mail.md). So many are made at a time as the server takes within a
 * moment, because they share their reads. While it takes no mail, it is tried with one mail at a time, and less and less often. One
 * process at a time runs it.
 */
export function createMailer(deps: MailerDeps) {
  const { queue, compose, sender, server, host, clock, logger, pollIntervalMs = POLL_INTERVAL_MS } = deps;
  const pause = deps.pauseAfter ?? pauseAfter;
  const stopping = new AbortController();
  /** Breaks the attempts in flight. */
  const breaking = new AbortController();
  const making = new Set<Promise<void>>();
  const made: Made[] = [];
  const sending = new Set<Promise<void>>();
  const recording = new Set<Promise<void>>();
  /** The mails that are being made, sent or recorded, and those that are made, by key. */
  const begun = new Set<string>();
  /** The users of the digests among them. */
  const digests = new Set<string>();
  /** How many are made ahead. */
  let ahead = CONNECTIONS;
  /** Read, and not begun. */
  let waiting: Mail[] = [];
  /** Whether the store may hold a due mail that was not read. */
  let isUnread = true;
  let isReading = false;
  /** How often a mail was stored that goes out before others. */
  let urgent = 0;
  /** Attempts in a row that have shown that the server takes no mail. */
  let failures = 0;
  /** When the last of them showed it. Monotonic, in milliseconds, here and below. */
  let failedAt = 0;
  let pausedUntil = 0;
  /** How long the last of them pauses all mail. */
  let pauseMs = 0;
  /** Why the server does not take all mail. */
  let cause: string | undefined;
  let refusals = NO_REFUSALS;
  let polling: Promise<unknown> | undefined;

  /** What is done at the same time shares commands to the store. */
  const together = gatherCalls(
    async (acts: readonly (() => Promise<void>)[]) => new Map(acts.map((act) => [act, act()])),
    { everyMs: RECORD_EVERY_MS },
  );

  const mayStart = (): boolean => !stopping.signal.aborted && deps.isActive() && performance.now() >= pausedUntil;

  /** Starts what may start now. Called after every change. */
  function next(): void {
    while (maySend()) {
      const first = made.shift();
      if (first === undefined) break;
      if (performance.now() - first.madeAt > FRESH_MS) {
        ahead = CONNECTIONS;
        release(first.due);
      } else run(sending, first.due, () => attempt(first));
    }
    const count = places();
    if (count === 0) return;
    if (waiting.length > 0) makeNext(count);
    else if (isUnread && !isReading) void read();
  }

  const maySend = (): boolean =>
    mayStart() &&
    sending.size < (failures === 0 ? CONNECTIONS : 1) &&
    sending.size + recording.size < (failures === 0 ? UNRECORDED : 1);

  /** How many more may be made now. While the server takes no mail, one that is tried at once. */
  function places(): number {
    if (!mayStart()) return 0;
    const ready = making.size + made.length;
    if (failures > 0) return ready + sending.size + recording.size === 0 ? 1 : 0;
    // Several at a time share their reads.
    return ready <= ahead / 2 ? ahead - ready : 0;
  }

  function makeNext(count: number): void {
    const before = making.size;
    while (waiting.length > 0 && making.size < before + count) {
      const mail = waiting.shift();
      if (mail !== undefined && !isLater(mail)) begin(mail);
    }
    if (making.size === before + count) ahead = Math.min(2 * ahead, PAGE);
    // All of them wait for a digest, whose end reads again.
    else if (making.size === before && waiting.length === 0) isUnread = false;
  }

  /** Whether a mail goes out with a digest that is in flight, or a digest has to wait for others. */
  const isLater = (mail: Mail): boolean =>
    isInDigest(mail) && (digests.has(mail.document.userId) || digests.size === DIGESTS);

  function begin(mail: Mail): void {
    const since = urgent;
    begun.add(mail.key);
    if (isInDigest(mail)) digests.add(mail.document.userId);
    run(making, mail, async () => {
      const ready = await make(mail);
      if (ready === undefined) return undefined;
      // Others go out before it now.
      if (since !== urgent && made.length >= CONNECTIONS && mail.document.lane !== 'first') return release(mail);
      if (mail.document.lane === 'first') made.unshift(ready);
      else made.push(ready);
      return 'goes on';
    });
  }

  /** Does something with a mail, which ends there unless it goes on. */
  function run(among: Set<Promise<void>>, mail: Mail, act: () => Promise<'goes on' | undefined>): void {
    const running = handle(mail, act).then(() => {
      among.delete(running);
      next();
    });
    among.add(running);
  }

  async function handle(mail: Mail, act: () => Promise<'goes on' | undefined>): Promise<void> {
    try {
      if ((await act()) === undefined) end(mail);
    } catch (error) {
      const { mailId, kind } = mail.document;
      // The mail is still due, so the next poll finds it.
      logger.error({ err: error, mailId, kind }, 'A mail could not be handled; retrying');
      end(mail);
    }
  }

  function end({ key, document }: Mail): void {
    begun.delete(key);
    if (document.inDigest !== true) return;
    digests.delete(document.userId);
    isUnread = true;
  }

  /** Leaves a mail to the next read. */
  function release(mail: Mail): undefined {
    end(mail);
    isUnread = true;
  }

  async function read(): Promise<void> {
    isReading = true;
    isUnread = false;
    const since = urgent;
    try {
      const page = await queue.due(PAGE, begun);
      // Those in flight are due until their outcome is stored, so the next page begins after them.
      isUnread ||= page.length === PAGE;
      // One that goes out before others was stored meanwhile, and is in the next page.
      waiting = page.slice(0, since === urgent ? PAGE : CONNECTIONS);
    } catch (error) {
      // The next poll reads again.
      logger.error({ err: error }, 'Looking up due mails failed; retrying');
    } finally {
      isReading = false;
    }
    if (waiting.length > 0 || isUnread) next();
  }

  /** @returns undefined if there is nothing to be sent now */
  async function make(due: Mail): Promise<Made | undefined> {
    // It may have been read long ago.
    const mail = await queue.stillPending(due);
    if (mail === undefined) return undefined;
    const { document } = mail;
    if (document.notAfter <= toTimestamp(clock())) return giveUp(mail);
    const mails = isInDigest(mail) ? await queue.inDigest(document.userId) : [mail];
    const named = mails.at(-1)?.document ?? document;
    const message = await messageOf(mails);
    if (message === undefined) return undefined;
    if (!('skipped' in message)) return { due, mails, named, message, madeAt: performance.now() };
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

  async function attempt({ due, mails, named, message }: Made): Promise<'goes on' | undefined> {
    const at = toTimestamp(clock());
    const startedAt = performance.now();
    const result = await send(named, message);
    faultPoint('mail sent, not recorded');
    // What the server did is unknown. The mail stays due, and the next process repeats it.
    if (breaking.signal.aborted && result.outcome !== 'accepted') return undefined;
    const { judged, reopened, ...rest } = judge(refusals, { ...named, to: message.to }, result, clock());
    refusals = rest.refusals;
    pauseOrResume(judged, startedAt);
    const attempted = { at, ...defined({ code: result.code }), response: result.response };
    // The next mail need not wait for it.
    run(recording, due, async () => {
      await together(() => record(mails, attempted, judged));
      await Promise.all(reopened.map((mailId) => queue.reopen(mailId, pauseMs)));
      await note(judged);
      return undefined;
    });
    return 'goes on';
  }

  /**
   * Makes the message of a mail, or of a digest, which is named by its last mail.
   * @returns undefined if the message cannot be made now
   */
  async function messageOf(mails: readonly Mail[]): Promise<Message | { readonly skipped: string } | undefined> {
    const documents = mails.map(({ document }) => document);
    const mail = documents.at(-1);
    if (mail === undefined) return undefined;
    try {
      return await compose(mail, documents.slice(0, -1));
    } catch (error) {
      if (!isUnavailable(error)) {
        const { mailId, kind } = mail;
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
      return untilStored(mail, () => queue.complete(mail, attempted, outcome));
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
    const because = isAway ? judged.cause : isRefusing(refusals, clock()) ? REFUSES_SOME : undefined;
    if (because !== undefined) {
      if (because !== cause) {
        const { response: problem, code } = judged;
        logger.warn({ cause: because, problem, code }, 'The mail server does not take all mail; retrying');
      }
      cause = because;
      return server.isDown(because);
    }
    if (cause === undefined) return;
    cause = undefined;
    logger.info('The mail server takes mail again');
    await server.isUp();
  }

  /** Reads again: what is due may be more urgent than what was read. */
  async function poll(): Promise<void> {
    waiting = [];
    isUnread = true;
    next();
  }

  return {
    async start(): Promise<void> {
      await queue.correctDue();
      // The next attempt shows why.
      if ((await server.outage()) !== undefined) [failures, cause] = [1, ''];
      next();
      polling = inRounds(pollIntervalMs, stopping.signal, poll);
    },

    /** Call when a mail has just been stored. @param isFirst whether it goes out before others */
    wake(isFirst: boolean): void {
      if (isFirst) {
        urgent += 1;
        waiting = [];
        for (const { due } of made.splice(0)) release(due);
      }
      isUnread = true;
      next();
    },

    /** Starts no further attempts, waits for those in flight, and breaks what takes too long. */
    async stop(): Promise<void> {
      stopping.abort();
      const timer = setTimeout(() => breaking.abort(), STOP_WITHIN_MS);
      await Promise.all([polling, ...making, ...sending]);
      await Promise.all(recording);
      clearTimeout(timer);
    },
  };
}
