import type { Collection, Find, OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { SerialQueue } from '../event-loop/serial-queue.ts';
import type { Clock } from '../runtime/clock.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import type { Message } from './new-mail.ts';
import type { MailSender } from './sender.ts';

/** A mail that was kept instead of sent. */
export type KeptMail = Message & {
  readonly messageId: string;
  readonly date: Timestamp;
} & Omit<KeptRecord, 'sealed'> & {
    /** Part of its address under `/mail`. */
    readonly id: string;
  };

/** A mail in the store: people wrote parts of it, and it may hold a link that sets a password. */
type KeptRecord = {
  /** Who got it. */
  readonly userId: string;
  readonly at: Timestamp;
  readonly expiresAt: Timestamp;
  /** The message as JSON. */
  readonly sealed: string;
};

type Content = Message & Pick<KeptMail, 'messageId' | 'date'>;

/** How many mails the inbox keeps. */
export const INBOX_SIZE = 100;
const KEPT_MS = 24 * 3_600_000;

const inboxCollection: Collection<KeptRecord> = {
  name: 'mailInbox',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [{ fields: ['at'] }],
};

const latest = declareQuery(
  inboxCollection,
  (above: Timestamp): Find<KeptRecord> => ({
    where: { at: { above } },
    sort: [{ field: 'at', direction: 'descending' }],
    limit: INBOX_SIZE,
  }),
  [toTimestamp(0)],
);

const earliest = declareQuery(
  inboxCollection,
  (limit: number): Find<KeptRecord> => ({ sort: [{ field: 'at' }], limit }),
  [10],
);

export type MailInbox = Awaited<ReturnType<typeof openInbox>>;

/**
 * Keeps mails to be read at `/mail`, for a service on one machine without a mail server (`MAIL_INBOX`): the last {@link INBOX_SIZE}, for at
 * most a day.
 */
export async function openInbox(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'purge'>;
  readonly clock: Clock;
  readonly secretKey: SecretKey;
}) {
  const { documents, clock, secretKey } = deps;
  const collection = await documents.open(inboxCollection);

  const trimming = new SerialQueue();

  async function trim(): Promise<void> {
    const tooMany = (await collection.count(everyDocument())) - INBOX_SIZE;
    if (tooMany > 0) for await (const { key } of collection.find(earliest(tooMany))) await collection.delete(key);
  }

  function opened({ key: id, document: { sealed, ...record } }: Stored<KeptRecord>): KeptMail {
    const content: Content = JSON.parse(unseal(secretKey, purposes.inboxMail(id), sealed));
    return { ...content, ...record, id };
  }

  const sender: MailSender = {
    async send({ messageId, date, userId, ...message }) {
      const now = clock();
      const id = /[0-9a-f]+/.exec(messageId)?.[0] ?? '';
      const content: Content = { ...message, messageId, date: toTimestamp(date.getTime()) };
      await collection.insert(id, {
        userId,
        at: toTimestamp(now),
        expiresAt: toTimestamp(now + KEPT_MS),
        sealed: seal(secretKey, purposes.inboxMail(id), JSON.stringify(content)),
      });
      // One after another: two that counted the same mails would delete twice as many.
      await trimming.run('', trim);
      return { outcome: 'accepted', response: 'Kept in the inbox at /mail.' };
    },
    async close() {},
  };

  return {
    sender,

    /** Latest first. */
    list: (): Promise<readonly KeptMail[]> =>
      Array.fromAsync(collection.find(latest(toTimestamp(clock() - KEPT_MS))), opened),

    async get(id: string): Promise<KeptMail | undefined> {
      const stored = await collection.get(id);
      return stored === undefined ? undefined : opened(stored);
    },

    /** Deletes mails, also from the files. */
    async delete(isOne: (mail: KeptMail) => boolean): Promise<void> {
      const kept = await Array.fromAsync(collection.find(everyDocument()), opened);
      const ids = kept.filter(isOne).map(({ id }) => id);
      if (ids.length === 0) return;
      await Promise.all(ids.map((id) => collection.delete(id)));
      await documents.purge();
    },
  };
}
