import type { MailAttempt } from './mail-record.ts';
import type { Judged, SendResult } from './outcome.ts';

/** One mail that the server refused for good, until the server accepts another at the same domain. */
type Refused = {
  readonly mailId: string;
  readonly userId: string;
  readonly domain: string;
  /** The server's answer without what differs from mail to mail. */
  readonly text: string;
  /** Milliseconds since the epoch, here and below. */
  readonly at: number;
};

/** What the answers of the mail server to the last mails say about the service. */
export type Refusals = {
  /** Oldest first. */
  readonly refused: readonly Refused[];
  /** When the server last accepted a mail, by the domain of its recipient. */
  readonly acceptedAt: ReadonlyMap<string, number>;
};

export const NO_REFUSALS: Refusals = { refused: [], acceptedAt: new Map() };

/** So many recipients in a row that are refused with the same text are no coincidence. */
const SAME_TEXT = 3;
/** A mail that was refused earlier is not sent any more. */
const FORGOTTEN_AFTER_MS = 24 * 3_600_000;
/** Refusals and domains that are remembered. */
const REMEMBERED = 1_000;

/**
 * RFC 3463: 5.7.x is about security and policy, such as a blocked client or relaying; 5.1.7 and 5.1.8 are about the sender. Servers give these
 * answers to RCPT and to the data, too: Postfix by default (`smtpd_delay_reject`).
 */
const ABOUT_SERVICE = /^5\d\d[ -]5\.(?:7\.\d+|1\.7|1\.8)\b/;

/**
 * Decides whether the server refused one mail or the service. A refusal that can be about the service makes the mail wait. It was about
 * that mail if the server then accepts another one at the same domain and refuses this one again. If the server accepts mail at other
 * domains only, as it does where relaying is refused, the mail is tried again on the schedule.
 * @returns `reopened`: mails that failed before it was known that the same answer is about the service
 */
export function judge(
  { refused, acceptedAt }: Refusals,
  mail: {
    readonly mailId: string;
    readonly userId: string;
    readonly attempts: readonly MailAttempt[];
    readonly to: string;
  },
  result: SendResult,
  now: number,
): { readonly refusals: Refusals; readonly judged: Judged; readonly reopened: readonly string[] } {
  const { mailId, userId, attempts, to } = mail;
  const judged = (judgement: Judged, changed: Partial<Refusals> = {}, reopened: readonly string[] = []) => ({
    refusals: { refused, acceptedAt, ...changed },
    judged: judgement,
    reopened,
  });
  const domain = to.slice(to.lastIndexOf('@') + 1).toLowerCase();
  if (result.outcome === 'accepted') {
    const others = [...acceptedAt].filter(([accepted]) => accepted !== domain).slice(1 - REMEMBERED);
    return judged(result, {
      refused: refused.filter((each) => each.domain !== domain),
      acceptedAt: new Map([...others, [domain, now] as const]),
    });
  }
  /** Whether the server has accepted any mail since this one was last tried, which was then. */
  const isTakingOthers = (triedAt: number) => [...acceptedAt.values()].some((at) => at > triedAt);
  const { response, code } = result;
  if (result.outcome !== 'refused') {
    const isHeld = code !== undefined && !isTakingOthers(timeOf(attempts.at(-1)));
    return judged(isHeld ? { outcome: 'held', cause: result.cause, response, code } : result);
  }
  if (!result.isFinal || code === undefined) return judged(result);

  const text = comparable(result.response);
  const others = refused.filter((each) => each.mailId !== mailId && each.at > now - FORGOTTEN_AFTER_MS);
  const withThis = [...others, { mailId, userId, domain, text, at: now }].slice(-REMEMBERED);
  if (!isAboutService(text, withThis)) return judged(result, { refused: withThis });

  const refusedAt = timeOf(attempts.findLast((attempt) => comparable(attempt.response) === text));
  if ((acceptedAt.get(domain) ?? 0) > refusedAt) return judged(result, { refused: others });
  const hadFailed = isAboutService(text, others) ? [] : others.filter((each) => each.text === text);
  const reopened = hadFailed.map((each) => each.mailId);
  const judgement: Judged = isTakingOthers(refusedAt)
    ? { ...result, isFinal: false }
    : { outcome: 'held', cause: 'RefusesService', response, code };
  return judged(judgement, { refused: withThis }, reopened);
}

/** Infinity if there was no attempt. */
const timeOf = (attempt: MailAttempt | undefined): number =>
  attempt === undefined ? Number.POSITIVE_INFINITY : Date.parse(attempt.at);

/** Whether the server still refuses the service for some recipients, as far as is known. */
export const isRefusing = ({ refused }: Refusals, now: number): boolean =>
  refused.some(({ text, at }) => at > now - FORGOTTEN_AFTER_MS && isAboutService(text, refused));

const isAboutService = (text: string, refused: readonly Refused[]): boolean =>
  ABOUT_SERVICE.test(text) ||
  new Set(refused.filter((each) => each.text === text).map(({ userId }) => userId)).size >= SAME_TEXT;

/** An answer without the words that differ from mail to mail, such as the number of a session. The status codes stay. */
function comparable(response: string): string {
  const [, codes = '', text = ''] = /^((?:\d{3}[ -])?(?:\d\.\d{1,3}\.\d{1,3}\b)?)(.*)$/s.exec(response) ?? [];
  const words = text.split(' ').map((word) => (/\d/.test(word) ? '#' : word));
  return codes + words.join(' ');
}
