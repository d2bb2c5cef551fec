import type { Collection, Find, OperatedDocumentStore } from '../document-store/document-store.ts';
import { declareQuery, everyDocument } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import type { Message } from './new-mail.ts';
import type { MailSender } from './sender.ts';

/** A mail that was kept instead of sent. */
export type KeptMail = Message & {
  /** Part of its address under `/mail`. */
  readonly id: string;
  /** Who got it. */
  readonly userId: string;
  readonly messageId: string;
  readonly date: Timestamp;
  readonly at: Timestamp;
  readonly expiresAt: Timestamp;
};

/** How many mails the inbox keeps. */
export const INBOX_SIZE = 100;
const KEPT_MS = 24 * 3_600_000;

const inboxCollection: Collection<KeptMail> = {
  name: 'mailInbox',
  kind: 'record',
  ttl: 'expiresAt',
  indexes: [{ fields: ['at'] }],
};

const latest = declareQuery(
  inboxCollection,
  (above: Timestamp): Find<KeptMail> => ({
    where: { at: { above } },
    sort: [{ field: 'at', direction: 'descending' }],
    limit: INBOX_SIZE,
  }),
  [toTimestamp(0)],
);

const earliest = declareQuery(
  inboxCollection,
  (limit: number): Find<KeptMail> => ({ sort: [{ field: 'at' }], limit }),
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
}) {
  const { documents, clock } = deps;
  const collection = await documents.open(inboxCollection);

  const trimming = new SerialQueue();

  async function trim(): Promise<void> {
    const tooMany = (await collection.count(everyDocument())) - INBOX_SIZE;
    if (tooMany > 0) for await (const { key } of collection.find(earliest(tooMany))) await collection.delete(key);
  }

  const sender: MailSender = {
    async send({ messageId, date, ...message }) {
      const now = clock();
      const id = /[0-9a-f]+/.exec(messageId)?.[0] ?? '';
      const times = { date: toTimestamp(date.getTime()), at: toTimestamp(now), expiresAt: toTimestamp(now + KEPT_MS) };
      await collection.insert(id, { ...message, id, messageId, ...times });
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
      Array.fromAsync(collection.find(latest(toTimestamp(clock() - KEPT_MS))), ({ document }) => document),

    get: async (id: string): Promise<KeptMail | undefined> => (await collection.get(id))?.document,

    /** Deletes mails, also from the files. */
    async delete(isOne: (mail: KeptMail) => boolean): Promise<void> {
      const kept = await Array.fromAsync(collection.find(everyDocument()));
      const keys = kept.filter(({ document }) => isOne(document)).map(({ key }) => key);
      if (keys.length === 0) return;
      await Promise.all(keys.map((key) => collection.delete(key)));
      await documents.purge();
    },
  };
}
