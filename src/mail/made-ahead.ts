import type { BaseLogger } from 'pino';
import type { MailQueue } from './mail-queue.ts';
import { isInDigest, type Mail, type MailRecord } from './mail-record.ts';
import type { Message } from './new-mail.ts';

/** Mails read at once. As many are made ahead at most. */
const PAGE = 64;
/** How long a mail that was made may wait for a connection. Then it is made again, because what it says may have changed. */
const FRESH_MS = 250;

/** A mail that is ready to be sent, or a digest of several, which the last one names. */
export type Made = {
  /** The mail that was due. */
  readonly due: Mail;
  readonly mails: readonly Mail[];
  readonly named: MailRecord;
  readonly message: Message;
};

/**
 * Reads due mails and makes them ahead of the connections that send them. Several are made at a time, because they share their reads: as
 * many as are taken within a moment.
 */
export function createMadeAhead(deps: {
  readonly queue: Pick<MailQueue, 'due'>;
  /** @returns undefined if there is nothing to be sent now */
  readonly make: (due: Mail) => Promise<Made | undefined>;
  /** Called when a mail may be taken, or more may be made. */
  readonly changed: () => void;
  readonly connections: number;
  readonly logger: Pick<BaseLogger, 'error'>;
}) {
  const { queue, make, changed, connections, logger } = deps;
  /** Digests take longest, so that they leave a connection to other mail. */
  const mostDigests = connections - 1;
  const making = new Set<Promise<void>>();
  /** With the moment when it was made (monotonic, in milliseconds). */
  const made: (Made & { readonly madeAt: number })[] = [];
  /** The mails that are being made, are made, or were taken and have not ended, by key. */
  const begun = new Set<string>();
  /** The users of the digests among them. */
  const digests = new Set<string>();
  /** How many are made ahead. */
  let ahead = connections;
  /** Read, and not begun. */
  let waiting: Mail[] = [];
  /** Whether the store may hold a due mail that was not read. */
  let isUnread = true;
  let isReading = false;
  /** How often a mail was stored that goes out before others. */
  let urgent = 0;

  /** Ends a mail: it may be read again if it is still due. */
  function end({ key, document }: Mail): void {
    begun.delete(key);
    if (document.inDigest !== true) return;
    digests.delete(document.userId);
    isUnread = true;
  }

  /** Leaves a mail to the next read. */
  function release(mail: Mail): void {
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
      waiting = page.slice(0, since === urgent ? PAGE : connections);
    } catch (error) {
      // The next poll reads again.
      logger.error({ err: error }, 'Looking up due mails failed; retrying');
    } finally {
      isReading = false;
    }
    if (waiting.length > 0 || isUnread) changed();
  }

  /** Whether a mail goes out with a digest that is in flight, or is a digest that waits for others. */
  const isLater = (mail: Mail): boolean =>
    isInDigest(mail) && (digests.has(mail.document.userId) || digests.size === mostDigests);

  function beginNext(count: number): void {
    const before = making.size;
    while (waiting.length > 0 && making.size < before + count) {
      const mail = waiting.shift();
      if (mail !== undefined && !isLater(mail)) begin(mail);
    }
    if (making.size === before + count) ahead = Math.min(2 * ahead, PAGE);
    // All of them wait for a digest, whose end reads again.
    else if (making.size === before) isUnread = false;
  }

  function begin(mail: Mail): void {
    begun.add(mail.key);
    if (isInDigest(mail)) digests.add(mail.document.userId);
    const running = makeOne(mail).then(() => {
      making.delete(running);
      changed();
    });
    making.add(running);
  }

  async function makeOne(mail: Mail): Promise<void> {
    const since = urgent;
    const { mailId, kind, lane } = mail.document;
    try {
      const ready = await make(mail);
      if (ready === undefined) return end(mail);
      // Others go out before it now.
      if (since !== urgent && made.length >= connections && lane !== 'first') return release(mail);
      made.splice(lane === 'first' ? 0 : made.length, 0, { ...ready, madeAt: performance.now() });
    } catch (error) {
      logger.error({ err: error, mailId, kind }, 'A mail could not be made; retrying');
      // It is still due, so the next poll finds it.
      end(mail);
    }
  }

  return {
    /** The next mail to be sent; undefined if none is made. Call `end` once its outcome is stored. */
    take(): Made | undefined {
      for (let first = made.shift(); first !== undefined; first = made.shift()) {
        if (performance.now() - first.madeAt <= FRESH_MS) return first;
        ahead = connections;
        release(first.due);
      }
      return undefined;
    },

    end,

    /** Makes more mails. @param most at most so many are made ahead, besides digests; as many as were taken lately by default */
    makeMore(most = ahead): void {
      const ready = making.size + made.length - digests.size;
      if (ready > most / 2) return;
      if (waiting.length > 0) beginNext(most - ready);
      else if (isUnread && !isReading) void read();
    },

    /** Reads again: what is due may be more urgent than what was read. */
    readAgain(): void {
      waiting = [];
      isUnread = true;
    },

    /** Call when a mail has just been stored. @param isFirst whether it goes out before others */
    stored(isFirst: boolean): void {
      isUnread = true;
      if (!isFirst) return;
      urgent += 1;
      waiting = [];
      for (const { due } of made.splice(0)) release(due);
    },

    /** Resolves once no mail is being made. */
    settled: async (): Promise<void> => void (await Promise.all(making)),
  };
}
