import type { DocumentStore, Documents, Find, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { AccountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { inPages } from '../runtime/in-pages.ts';
import { isDueTrusted } from '../webhooks/delivery.ts';
import {
  afterAttempt,
  ended,
  type MailAttempt,
  type MailRecord,
  type MailState,
  mailCollection,
  newRecord,
  reopened,
  restarted,
} from './mail-record.ts';
import type { NewMail } from './new-mail.ts';
import type { Outcome } from './outcome.ts';

/** Mails per commit. */
const PAGE = 100;

type Mail = Stored<MailRecord>;
type Change = (record: MailRecord) => MailRecord | undefined;

const dueBy = declareQuery(
  mailCollection,
  (to: Timestamp, limit: number): Find<MailRecord> => ({
    where: { state: 'Pending', due: { to } },
    sort: [{ field: 'due' }],
    limit,
  }),
  [toTimestamp(1), 10],
);

const notDueBefore = declareQuery(
  mailCollection,
  (from: Timestamp): Find<MailRecord> => ({ where: { state: 'Pending', due: { from } } }),
  [toTimestamp(0)],
);

const pending = declareQuery(mailCollection, (): Find<MailRecord> => ({ where: { state: 'Pending' } }), []);

const oldestPending = declareQuery(
  mailCollection,
  (): Find<MailRecord> => ({ where: { state: 'Pending' }, sort: [{ field: 'createdAt' }], limit: 1 }),
  [],
);

const inState = declareQuery(
  mailCollection,
  (state: MailState, limit: number, account?: AccountKey): Find<MailRecord> => ({
    where: { state, ...(account !== undefined && { account }) },
    sort: [{ field: 'due', direction: 'descending' }],
    limit,
  }),
  ['Failed', 10],
  ['Failed', 10, 'Brand:7'],
);

const ofUser = declareQuery(mailCollection, (userId: string): Find<MailRecord> => ({ where: { userId } }), ['usr_1']);

/** The mails, in the document store. Each is stored as pending before it is sent. One process at a time sends, so none is claimed. */
export class MailQueue {
  readonly #collection: Documents<MailRecord>;
  readonly #clock: Clock;

  private constructor(collection: Documents<MailRecord>, clock: Clock) {
    this.#collection = collection;
    this.#clock = clock;
  }

  static async open({ documents, clock }: { readonly documents: DocumentStore; readonly clock: Clock }) {
    return new MailQueue(await documents.open(mailCollection), clock);
  }

  /** Stores a pending mail. @returns false if that cause has already made one for the user */
  async add(mail: NewMail): Promise<boolean> {
    const record = newRecord(mail, this.#clock());
    return this.#collection.insert(record.mailId, record);
  }

  /** The mails that have been due for longest. */
  async due(limit: number, except: ReadonlySet<string>): Promise<readonly Mail[]> {
    const most = limit + except.size;
    const page = await Array.fromAsync(this.#collection.find(dueBy(toTimestamp(this.#clock()), most)));
    return page.filter(({ key }) => !except.has(key)).slice(0, limit);
  }

  /** A mail as it is now. @returns undefined if it is no longer pending, or its user was removed */
  async stillPending(mail: Mail): Promise<Mail | undefined> {
    const stored = await this.#collection.get(mail.key);
    return stored?.document.state === 'Pending' ? stored : undefined;
  }

  /** Stores an attempt and its outcome. */
  async complete(stored: Mail, attempt: MailAttempt, outcome: Outcome): Promise<void> {
    await this.#change(stored.key, (record) => afterAttempt(record, attempt, outcome, this.#clock()), stored);
  }

  /** Ends a pending mail. */
  async end(stored: Mail, how: { readonly state: 'Failed' | 'Skipped'; readonly reason: string }): Promise<void> {
    const end: Change = (record) => (record.state === 'Pending' ? ended(record, how, this.#clock()) : undefined);
    await this.#change(stored.key, end, stored);
  }

  /** Makes a pending mail due later, without counting a try. */
  async postpone(stored: Mail, delayMs: number): Promise<void> {
    const postpone: Change = (record) =>
      record.state === 'Pending' ? { ...record, due: toTimestamp(this.#clock() + delayMs), delayMs } : undefined;
    await this.#change(stored.key, postpone, stored);
  }

  /** Makes a mail that has failed pending again, with its tries. */
  async reopen(mailId: string, delayMs: number): Promise<void> {
    await this.#change(mailId, (record) =>
      record.state === 'Failed' ? reopened(record, delayMs, this.#clock()) : undefined,
    );
  }

  /** Makes mails due now that are due further ahead than their delay allows: a wrong clock, here or in another process, stored them. */
  async correctDue(): Promise<void> {
    const now = this.#clock();
    const correct: Change = (record) =>
      record.state === 'Pending' && !isDueTrusted(record, now) ? { ...record, due: toTimestamp(now) } : undefined;
    for await (const page of inPages(this.#collection.find(notDueBefore(toTimestamp(now))), PAGE))
      await Promise.all(page.map((stored) => this.#change(stored.key, correct, stored)));
  }

  /** Makes a mail due now, with a day and a full schedule ahead of it. @returns undefined if there is none that may be resent */
  resend(mailId: string, mayResend: (record: MailRecord) => boolean): Promise<MailRecord | undefined> {
    return this.#change(mailId, (record) => (mayResend(record) ? restarted(record, this.#clock()) : undefined));
  }

  /** Deletes all mails to a user. */
  async deleteOf(userId: string): Promise<void> {
    for await (const page of inPages(this.#collection.find(ofUser(userId)), PAGE))
      await Promise.all(page.map(({ key }) => this.#collection.delete(key)));
  }

  async get(mailId: string): Promise<MailRecord | undefined> {
    return (await this.#collection.get(mailId))?.document;
  }

  /** The last mails in a state, latest first: of all accounts, or of one. */
  list(state: MailState, limit: number, account?: AccountKey): Promise<readonly MailRecord[]> {
    return Array.fromAsync(this.#collection.find(inState(state, limit, account)), ({ document }) => document);
  }

  countPending(): Promise<number> {
    return this.#collection.count(pending());
  }

  /** The pending mail that was stored first. */
  async oldest(): Promise<MailRecord | undefined> {
    for await (const { document } of this.#collection.find(oldestPending())) return document;
    return undefined;
  }

  /** @returns undefined if it does not exist, or `next` left it as it was */
  async #change(key: string, next: Change, stored?: Mail): Promise<MailRecord | undefined> {
    const updated = await this.#collection.update(key, (record) => record && next(record), stored && { stored });
    return updated.isChanged ? updated.stored.document : undefined;
  }
}
