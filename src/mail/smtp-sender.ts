import { createTransport } from 'nodemailer';
import { isAddress, isSafeForSmtp, type NamedAddress } from '../domain/email-address.ts';
import { isLoopbackHost } from '../http/loopback.ts';
import type { SendResult } from './outcome.ts';
import type { MailSender, OutgoingMail } from './sender.ts';
import { causeOf, type SmtpFailure } from './smtp-cause.ts';

export type SmtpOptions = {
  /** `smtp://` or `smtps://`, with the user and the password. */
  readonly url: string;
  /** `MAIL_FROM`. */
  readonly from: NamedAddress;
  /** Mails sent at the same time. */
  readonly connections: number;
  readonly timeouts?: Partial<typeof TIMEOUTS>;
};

/** How long a server may take, in milliseconds. A slow one holds nothing but its connection. */
const TIMEOUTS = {
  connect: 15_000,
  greeting: 30_000,
  /** Without a byte. Servers that examine a mail take minutes to answer the end of its data (RFC 5321, 4.5.3.2.6). */
  silence: 5 * 60_000,
};
/** A connection is closed after so long without a mail. */
const IDLE_MS = 10_000;
/** Characters of a reply that are kept. */
const MAX_RESPONSE = 300;

/** Sends mails over SMTP. This module loads nodemailer, so it is imported when the first mail is sent. */
export function createSmtpSender({ url, from, connections, timeouts }: SmtpOptions): MailSender {
  const limits = { ...TIMEOUTS, ...timeouts };
  const transport = createTransport({
    url,
    // The URL may say otherwise.
    requireTLS: isPasswordForAnother(url),
    pool: true,
    maxConnections: connections,
    // A mail whose connection breaks is tried again on our schedule, not at once.
    maxRequeues: 0,
    idleTimeout: IDLE_MS,
    connectionTimeout: limits.connect,
    greetingTimeout: limits.greeting,
    dnsTimeout: limits.connect,
    socketTimeout: limits.silence,
    disableFileAccess: true,
    disableUrlAccess: true,
  });

  return {
    async send(mail, signal) {
      // nodemailer would send to what it can make of it.
      if (!isSafeForSmtp(mail.to))
        return { outcome: 'refused', isFinal: true, response: 'This is not an address that a mail can be sent to.' };
      try {
        const { response } = await transport.sendMail({ ...contentOf(mail, from), signal });
        return { outcome: 'accepted', ...replyOf(response, mail.to) };
      } catch (error) {
        return resultOf(error, mail.to);
      }
    },
    close: async () => transport.close(),
  };
}

/** Whether there is a password that a machine on the way could read: without TLS, nothing is sent then. */
function isPasswordForAnother(url: string): boolean {
  const { username, hostname } = new URL(url);
  return username !== '' && !isLoopbackHost(hostname);
}

/** Addresses are objects, so that no name can be read as an address, and nodemailer encodes what would begin another header. */
function contentOf(mail: OutgoingMail, from: NamedAddress) {
  const { to, subject, text, html, replyTo, unsubscribeUrl, calendar, messageId, date } = mail;
  return {
    from,
    to: { name: '', address: to },
    envelope: { from: from.address, to: [to] },
    ...(replyTo !== undefined && isFitFor(to, replyTo) && { replyTo: { name: '', address: replyTo } }),
    subject: inOneLine(subject),
    text,
    html,
    messageId,
    date,
    // No program answers it with a mail of its own (RFC 3834); Exchange follows the second one.
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'OOF, AutoReply',
      // Mail programs may post to an address with TLS only (RFC 8058, 3.1).
      ...(unsubscribeUrl?.startsWith('https:') && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
    },
    ...(unsubscribeUrl !== undefined && { list: { unsubscribe: unsubscribeUrl } }),
    ...(calendar !== undefined && {
      attachments: [
        { filename: 'event.ics', content: calendar, contentType: 'text/calendar; charset=utf-8; method=PUBLISH' },
      ],
    }),
  };
}

/**
 * Whether an address may stand in a header of a mail to another. A name in other letters than ASCII needs SMTPUTF8 (RFC 6531, 3.2), which
 * nodemailer asks for if the recipient has such a name; other servers refuse the mail for good. A domain goes out in ASCII.
 */
const isFitFor = (to: string, address: string): boolean =>
  isAddress(address) && (isAsciiName(address) || !isAsciiName(to));

const isAsciiName = (address: string): boolean => /^\p{ASCII}*@/u.test(address);

const inOneLine = (text: string): string => text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();

/** The commands that are about one mail. Any other failure concerns all mails. */
const OF_ONE_MAIL: readonly unknown[] = ['RCPT TO', 'DATA'];
/** Replies to them that ask this service to sign in, or to encrypt, first (RFC 4954, 6). */
const NOT_SIGNED_IN: readonly unknown[] = [530, 534, 535, 538];

/** What an error of nodemailer means. */
function resultOf(error: unknown, to: string): SendResult {
  const failure: SmtpFailure = error instanceof Error ? error : {};
  const { code, command, response, responseCode, message, reason } = failure;
  // The address itself cannot be put into a command, or the server says that the mail is too large: it would again.
  if (responseCode === undefined && (code === 'EENVELOPE' || code === 'EMESSAGE'))
    return { outcome: 'refused', isFinal: true, response: withoutAddresses(String(message), to) };
  const said = typeof response === 'string' ? response : String(reason ?? message ?? error);
  const reply = typeof response === 'string' ? replyOf(said, to) : { response: withoutAddresses(said, to) };
  const unreachable: SendResult = { outcome: 'unreachable', cause: causeOf(failure), ...reply };
  if (typeof responseCode !== 'number' || !OF_ONE_MAIL.includes(command) || NOT_SIGNED_IN.includes(responseCode))
    return unreachable;
  // 421: it closes the connection, in answer to any command. 503: it has lost track of the session.
  if (responseCode === 421) return unreachable;
  return { outcome: 'refused', isFinal: responseCode >= 500 && responseCode !== 503, ...reply };
}

function replyOf(reply: string, to: string): { readonly code?: number; readonly response: string } {
  const code = Number(/^\d{3}/.exec(reply)?.[0]);
  return { ...(Number.isInteger(code) && { code }), response: withoutAddresses(reply, to) };
}

/** Servers repeat the address, or the part before its `@`, in their replies. */
function withoutAddresses(text: string, to: string): string {
  const local = to.split('@', 1)[0] ?? '';
  const isPersonal = (word: string) => word.includes('@') || (local.length >= 3 && word.includes(local));
  const words = inOneLine(text).slice(0, MAX_RESPONSE).split(' ');
  return words.map((word) => (isPersonal(word) ? '(address)' : word)).join(' ');
}
