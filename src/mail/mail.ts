import { domainToASCII } from 'node:url';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import type { AccountKey } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import type { NamedAddress } from '../domain/email-address.ts';
import type { Timestamp } from '../domain/ids.ts';
import { loadOnce } from '../event-loop/load-once.ts';
import { inRounds } from '../event-loop/rounds.ts';
import type { OutboxTuning } from '../outbox/follow-kinds.ts';
import { prepareMarks } from '../outbox/marks.ts';
import { type OutboxDeps, openOutbox, type Sending } from '../outbox/outbox.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { createMailFanOut, type Recipients } from './fan-out.ts';
import { type KeptMail, openInbox } from './inbox.ts';
import { isUrgent } from './kinds.ts';
import { MailQueue } from './mail-queue.ts';
import { isTooOld, type MailRecord, type MailState, messageIdOf } from './mail-record.ts';
import { CONNECTIONS, createMailer, type Mailer } from './mailer.ts';
import type { Compose, NewMail } from './new-mail.ts';
import type { pauseAfter, SendResult } from './outcome.ts';
import type { MailSender } from './sender.ts';
import { openServerState } from './server-state.ts';
import { MAIL_CAUSES, type MailCause } from './smtp-cause.ts';
import type { SmtpOptions } from './smtp-sender.ts';

export type { MailRecord, MailState } from './mail-record.ts';
export type { Compose, Message, NewMail } from './new-mail.ts';
export { MAIL_CAUSES } from './smtp-cause.ts';

export type MailDeps = OutboxDeps<{ readonly roles?: readonly string[] }> & {
  readonly documents: OperatedDocumentStore;
  readonly config: {
    /** Where mails are sent. Undefined: they are kept in the inbox, or there are none. */
    readonly smtp: { readonly url: string; readonly from: NamedAddress } | undefined;
    readonly mailInbox: boolean;
    /** Seals what the inbox keeps. */
    readonly secretKey: SecretKey;
  };
  /** Checks whether the clock of this machine is wrong. While it is, nothing is given up as too old, and nothing reminded. */
  readonly clockProblem?: () => Promise<string | undefined>;
  /** Called with what came of each attempt. */
  readonly onOutcome?: ((outcome: string) => void) | undefined;
  readonly tuning?: Tuning;
};

/** Which mails are made, and what they say. */
export type MailSource = {
  readonly compose: Compose;
  readonly recipients: Recipients;
  /** The mails that are due because of the time, at any moment. Those that were made before are made again. */
  readonly reminders: (now: number) => AsyncIterable<NewMail>;
};

/** Timing of mails; the defaults suit production. */
type Tuning = OutboxTuning & {
  readonly reminderIntervalMs?: number;
  readonly timeouts?: SmtpOptions['timeouts'];
  readonly pauseAfter?: typeof pauseAfter;
};

export type Mail = Awaited<ReturnType<typeof createMail>>;

/** How often to look for reminders that have become due. */
const REMINDER_INTERVAL_MS = 60_000;
/** An outage of the mail server is shown to operators after so long: many end by themselves. */
const OUTAGE_SHOWN_AFTER_MS = 5 * 60_000;
/** How long a test mail may take. */
const TEST_WITHIN_MS = 60_000;
/** The host in `Message-ID` of mails that are kept in the inbox. */
const INBOX_HOST = 'localhost';

/**
 * Mail to users (docs/decisions/mail.md): from the log, through records, to a mail server or to the inbox of a first start.
 */
export async function createMail(deps: MailDeps) {
  const { events, documents, heartbeats, clock, logger, config, tuning = {} } = deps;
  const { smtp, mailInbox, secretKey } = config;
  const isConfigured = smtp !== undefined || mailInbox;
  const queue = await MailQueue.open({ documents, clock });
  const server = await openServerState({ documents, clock });
  const inbox = mailInbox ? await openInbox({ documents, clock, secretKey }) : undefined;
  const sender = inbox?.sender ?? createLazySender(smtp, tuning.timeouts);
  // A name with other letters than ASCII would need a server that takes them in headers.
  const host = domainToASCII(smtp?.from.address.split('@').at(-1) ?? '') || INBOX_HOST;
  let mailer: Mailer | undefined;
  const outbox = await openOutbox(deps, 'mail');
  const { failedEvents } = outbox;

  async function sendMails(source: MailSource, isActive: () => boolean): Promise<Sending> {
    const { compose, recipients } = source;
    const { clockProblem = async () => undefined, onOutcome = () => {} } = deps;
    const { pollIntervalMs, pauseAfter, reminderIntervalMs = REMINDER_INTERVAL_MS } = tuning;
    const current = createMailer({
      queue,
      compose,
      sender,
      server,
      host,
      clock,
      clockProblem,
      logger,
      isActive,
      onOutcome,
      pollIntervalMs,
      pauseAfter,
    });
    const stopping = new AbortController();
    let reminding: Promise<void> | undefined;
    return {
      async start() {
        await current.start();
        mailer = current;
        reminding = inRounds(reminderIntervalMs, stopping.signal, () => remind(source, stopping.signal));
      },
      handle: createMailFanOut({ recipients, queue, wake: current.wake, clock, clockProblem }),
      async stop() {
        mailer = undefined;
        stopping.abort();
        await Promise.all([current.stop(), reminding]);
      },
    };
  }

  async function senders(): Promise<number | undefined> {
    if (!isConfigured) return undefined;
    const living = await heartbeats.living();
    return living.filter(({ status }) => status.roles?.includes('mail')).length;
  }

  /** Also without the setting: a service with another one may have filled the inbox. */
  const deleteKept = async (isOne: (mail: KeptMail) => boolean) =>
    (inbox ?? (await openInbox({ documents, clock, secretKey }))).delete(isOne);

  /** Stores the reminders that are due, unless the clock is wrong; once it is right, corrects what it has put off. */
  async function remind({ reminders }: MailSource, signal: AbortSignal): Promise<void> {
    try {
      if ((await deps.clockProblem?.()) !== undefined) return;
      await queue.correctDue();
      for await (const mail of reminders(clock())) {
        if (signal.aborted) return;
        if (await queue.add(mail)) mailer?.wake(false);
      }
    } catch (error) {
      logger.warn({ err: error }, 'Reminders could not be made; retrying');
    }
  }

  return {
    /** Whether mails are sent or kept at all. */
    isConfigured,
    /** The mails that were kept instead of sent. Undefined without `MAIL_INBOX`. */
    inbox,

    /**
     * Adds the marks of this release at the end of the log: what happened before mail was set up is not mailed. A process with any role
     * calls this before it answers requests.
     */
    async prepare({ recipients: { kinds } }: Pick<MailSource, 'recipients'>): Promise<void> {
      if (isConfigured) await prepareMarks({ events, documents, role: 'mail', kinds, beginning: 'end' });
    },

    /** Takes the role once no other process has it, then fans out and sends. */
    start(source: MailSource): void {
      const { kinds, reads } = source.recipients;
      const send = (isActive: () => boolean) => sendMails(source, isActive);
      if (isConfigured) outbox.start({ kinds, groups: [], reads, ping: async () => {} }, send);
    },

    /** Starts nothing new, waits for the attempts in flight, within seconds, and gives up the role. */
    async stop(): Promise<void> {
      await outbox.stop();
      await sender.close();
    },

    /** Stores a mail to be sent; the same cause makes only one. Does nothing if mail is not configured. */
    async enqueue(mail: NewMail): Promise<void> {
      if (!isConfigured || isTooOld(mail.at, clock())) return;
      if (await queue.add(mail)) mailer?.wake(isUrgent(mail.kind));
    },

    get: (mailId: string): Promise<MailRecord | undefined> => queue.get(mailId),
    /** The last mails in a state, latest first: of all accounts, or of one. */
    list: (state: MailState, limit: number, account?: AccountKey) => queue.list(state, limit, account),

    /**
     * Sends a mail again, with a day ahead of it. Refuses one that does not exist (`ResourceNotFound`). An account may resend what failed, of
     * its own: each mail that arrived could otherwise be sent to its reader without end.
     */
    async resend(mailId: string, account?: AccountKey): Promise<MailRecord | Refusal> {
      const mayResend = (mail: MailRecord) =>
        account === undefined || (mail.account === account && mail.state === 'Failed');
      const resent = await queue.resend(mailId, mayResend);
      if (resent === undefined) return refuse('ResourceNotFound', `There is no mail ${mailId}.`);
      mailer?.wake(isUrgent(resent.kind));
      return resent;
    },

    /** Sends one mail at once, past the queue. @returns what the server answered; undefined if mail is not configured */
    async sendTest(to: string): Promise<SendResult | undefined> {
      if (!isConfigured) return undefined;
      const now = clock();
      const text =
        'This is a test of the mail settings of the venue booking service. It was sent with `venue mail test`.';
      const message = { to, subject: 'Test of the venue booking service', text, html: `<p>${text}</p>` };
      const messageId = messageIdOf(`test:${crypto.randomUUID()}`, host);
      // With a connection of its own, which ends with the test.
      const tester = inbox?.sender ?? createLazySender(smtp, tuning.timeouts);
      try {
        const outgoing = { ...message, messageId, date: new Date(now), userId: '' };
        return await tester.send(outgoing, AbortSignal.timeout(TEST_WITHIN_MS));
      } finally {
        await tester.close();
      }
    },

    /** Ends all mail to a user who is removed or forgotten, also in the files. */
    async endAllOf(userId: string): Promise<void> {
      await queue.deleteOf(userId);
      await deleteKept((mail) => mail.userId === userId);
      await documents.purge();
    },

    /** Deletes the mails in the inbox that went to an address or name it. Mails that are still to be sent hold none. */
    forgetAddress: (address: string): Promise<void> =>
      deleteKept(({ to, subject, text }) => [to, subject, text].some((part) => part.includes(address))),

    /** A mail in the inbox, also without the setting. */
    getKept: async (id: string): Promise<KeptMail | undefined> =>
      (inbox ?? (await openInbox({ documents, clock, secretKey }))).get(id),

    /** Empties the inbox: any mail in it may quote what is forgotten. */
    forgetTexts: (): Promise<void> => deleteKept(() => true),

    /** When the mail was stored that has waited longest. */
    oldestPending: async (): Promise<Timestamp | undefined> => (await queue.oldest())?.createdAt,

    /** How many mails wait. */
    countPending: () => queue.countPending(),
    /** How many processes with the role are alive. Undefined if mail is not configured. */
    senders,
    /** Since when the mail server has taken no mail. Undefined if it takes mail, or nothing was sent yet. */
    awaySince: async (): Promise<Timestamp | undefined> => (await server.outage())?.since,
    /** Why it does not take all mail. Undefined if it does. */
    awayBecause: async (): Promise<MailCause | undefined> => (await server.outage())?.cause,

    /** What an operator should know: no process sends mail, or the server takes none. */
    async warning(): Promise<string | undefined> {
      if (!isConfigured) return undefined;
      if ((await senders()) === 0) return 'no process sends mail: start one with the role mail';
      const { parked } = await failedEvents.count();
      if (parked > 0) return `events without mails: ${parked} parked; see venue parked list`;
      const outage = await server.outage();
      if (outage === undefined || Date.parse(outage.since) > clock() - OUTAGE_SHOWN_AFTER_MS) return undefined;
      const does = outage.cause === 'RefusesSome' ? 'has not taken all mail' : 'has taken no mail';
      return `the mail server ${does} since ${outage.since}: ${MAIL_CAUSES[outage.cause]}; the log has its answer`;
    },

    listFailedEvents: failedEvents.list,
    countFailedEvents: failedEvents.count,
    replayParked: failedEvents.replay,
  };
}

/** nodemailer is loaded for the first mail, so that a start does not have to wait for it. */
function createLazySender(smtp: MailDeps['config']['smtp'], timeouts: SmtpOptions['timeouts']): MailSender {
  const sender = loadOnce(async () => {
    if (smtp === undefined) throw new Error('Mail is not configured');
    const { createSmtpSender } = await import('./smtp-sender.ts');
    return createSmtpSender({ ...smtp, connections: CONNECTIONS, ...(timeouts !== undefined && { timeouts }) });
  });
  return {
    send: async (mail, signal) => (await sender()).send(mail, signal),
    close: async () => (await sender.loaded())?.close(),
  };
}
