import { createHash } from 'node:crypto';
import type { Collection, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { dueIn, type Progress, RETENTION_MS, restarted, untried } from '../outbox/progress.ts';
import { dueInDigest, SERIES_WAIT_MS } from './hourly-limit.ts';
import { isUrgent } from './kinds.ts';
import type { NewMail } from './new-mail.ts';

/** One attempt to send a mail. */
export type MailAttempt = {
  readonly at: Timestamp;
  /** The status code of the server's reply. Absent if there was none. */
  readonly code?: number;
  /** The server's reply, or why there was none, without addresses. */
  readonly response: string;
};

export type MailState = 'Pending' | 'Sent' | 'Failed' | 'Skipped';

/** A mail to one user. It holds ids, never an address or a text (docs/decisions/mail.md). */
export type MailRecord = NewMail &
  Progress<MailState, MailAttempt> & {
    /** `kind:cause:userId`. */
    readonly mailId: string;
    /** Goes out before all other mail. */
    readonly lane?: 'first';
    /** Waits for the digest of its user, which goes out when it is due. */
    readonly inDigest?: true;
    /** From then on it is not sent any more. */
    readonly notAfter: Timestamp;
  };

export type Mail = Stored<MailRecord>;

export const isInDigest = ({ document }: Mail): boolean => document.inDigest === true;

const DAY_MS = 24 * 3_600_000;
/** A mail older than this is not sent: what it says is no longer news. */
const MAX_AGE_MS = DAY_MS;
/** Longer than a mail can be pending. */
const PENDING_RETENTION_MS = MAX_AGE_MS + RETENTION_MS;
/** Attempts kept with a mail. */
export const MAX_ATTEMPTS = 20;

export const TOO_OLD = 'It was older than a day.';

export const mailCollection: Collection<MailRecord> = {
  name: 'mails',
  kind: 'record',
  ttl: 'expiresAt',
  isWrittenTogether: true,
  indexes: [
    { fields: ['state', 'due'] },
    { fields: ['state', 'account', 'due'] },
    { fields: ['lane', 'due'], where: { lane: 'first', state: 'Pending' } },
    { fields: ['state', 'createdAt'] },
    { fields: ['userId', 'state', 'due'] },
  ],
};

/** The id of a mail, so that a cause that is handled again adds no second one. */
export const mailIdOf = ({ kind, cause, userId }: Pick<NewMail, 'kind' | 'cause' | 'userId'>): string =>
  `${kind}:${cause}:${userId}`;

/**
 * The `Message-ID` of a mail, the same in every attempt, so that mail programs show a repeated mail once. Shows no id of a user or a booking.
 * @param host the host of the sender's address
 */
export const messageIdOf = (mailId: string, host: string): string =>
  `<${createHash('sha256').update(mailId).digest('hex').slice(0, 40)}@${host}>`;

/**
 * The `Date` of a mail, the same in every attempt: when it happened, or when it was sent again by hand. What says how things are when it
 * is sent has that moment.
 */
export const dateOf = (
  { kind, inDigest, notAfter }: Pick<MailRecord, 'kind' | 'inDigest' | 'notAfter'>,
  now: number,
): Date => new Date(inDigest === true || kind === 'EventTomorrow' ? now : Date.parse(notAfter) - MAX_AGE_MS);

/**
 * The records of mails that are stored together.
 * @param now milliseconds since the epoch, here and below
 * @param digestAts the digests for which some of them wait, by the id of the mail
 */
export function newRecords(
  mails: readonly NewMail[],
  now: number,
  digestAts: ReadonlyMap<string, Timestamp | undefined>,
): readonly MailRecord[] {
  const dues = new Map<Timestamp, Timestamp>();
  return mails.map((added) => {
    const mailId = mailIdOf(added);
    const digestAt = digestAts.get(mailId);
    const seriesAt = added.about.series === undefined ? undefined : toTimestamp(now + SERIES_WAIT_MS);
    const due = digestAt ? dues.getOrInsertComputed(digestAt, () => dueInDigest(digestAt, now)) : seriesAt;
    return {
      ...added,
      mailId,
      ...untried(now, PENDING_RETENTION_MS),
      ...(isUrgent(added.kind) && { lane: 'first' }),
      ...(due !== undefined && { inDigest: true, due, delayMs: Date.parse(due) - now }),
      notAfter: toTimestamp(Date.parse(added.at) + MAX_AGE_MS),
    };
  });
}

/** Whether something that happened then is too long ago to be mailed. */
export const isTooOld = (at: Timestamp, now: number): boolean => Date.parse(at) + MAX_AGE_MS <= now;

/** A mail that has failed and is to wait after all, with its tries. */
export function reopened({ reason: _, ...record }: MailRecord, delayMs: number, now: number): MailRecord {
  const expiresAt = toTimestamp(now + PENDING_RETENTION_MS);
  return { ...record, state: 'Pending', ...dueIn(delayMs, now), expiresAt };
}

/** A mail with a day and a full schedule ahead of it, from any state. */
export function resent(record: MailRecord, now: number): MailRecord {
  const { inDigest: _, ...rest } = restarted(record, toTimestamp(now), now, PENDING_RETENTION_MS);
  return { ...rest, notAfter: toTimestamp(now + MAX_AGE_MS) };
}
