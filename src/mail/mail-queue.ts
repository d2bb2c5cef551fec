import type { DocumentStore, Documents, Find, Query } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { AccountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { dueCorrected, dueIn } from '../outbox/progress.ts';
import { OutboxQueue } from '../outbox/queue.ts';
import { inTurns } from '../outbox/turns.ts';
import type { Clock } from '../runtime/clock.ts';
import { DIGEST_SPREAD_MS, planMails, type RecentMails, recentMailsCollection } from './hourly-limit.ts';
import { isLimited } from './kinds.ts';
import {
  MAX_ATTEMPTS,
  type Mail,
  type MailRecord,
  type MailState,
  mailCollection,
  mailIdOf,
  newRecords,
  reopened,
  resent,
} from './mail-record.ts';
import type { NewMail } from './new-mail.ts';

/** Mails deleted together. */
const PAGE = 100;
/** Accounts whose mails are read at once, if more mails are due than are asked for. */
const ACCOUNTS = 16;
/** Mails that go out as one digest. */
const IN_DIGEST = 5_000;
/** So much earlier a mail goes out with a digest: its mails are due one shortly after another, also again after it failed. */
const DIGEST_AHEAD_MS = 2 * DIGEST_SPREAD_MS;
/** Mails of one account that are read at once then. */
const PER_TURN = 16;

type Which = { readonly lane?: 'first'; readonly account?: AccountKey; readonly userId?: string };

/** The mails that have been due for longest: all, the urgent ones, or those of an account or a user. */
const dueBy = declareQuery(
  mailCollection,
  (to: Timestamp, limit: number, which: Which = {}): Find<MailRecord> => ({
    where: { ...which, state: 'Pending', due: { to } },
    sort: [{ field: 'due' }],
    limit,
  }),
  [toTimestamp(1), 10],
  [toTimestamp(1), 10, { lane: 'first' }],
  [toTimestamp(1), 10, { account: 'Brand:7' }],
  [toTimestamp(1), 10, { userId: 'usr_1' }],
);

/** The first pending mails of the first accounts after `account`. */
const firstPendingAfter = declareQuery(
  mailCollection,
  (account: string, limit: number): Find<MailRecord> => ({
    where: { state: 'Pending', account: { above: account } },
    sort: [{ field: 'account' }, { field: 'due' }],
    limit,
  }),
  ['Brand:7', 1],
);

/** All pending mails, or those not due before a moment. */
const pending = declareQuery(
  mailCollection,
  (which: { readonly due?: { readonly from: Timestamp } } = {}): Find<MailRecord> => ({
    where: { ...which, state: 'Pending' },
  }),
  [],
  [{ due: { from: toTimestamp(0) } }],
);

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

/** Who takes turns. A mail about a password or an address names no account. */
const turnOf = ({ document: { account, userId } }: Mail): string => account ?? userId;

const seriesIn = ({ series }: NewMail['about']): string | undefined =>
  typeof series === 'string' ? series : undefined;

/** Each once, without some. */
function distinct(mails: readonly Mail[], except: ReadonlySet<string>): readonly Mail[] {
  const byKey = new Map(mails.map((mail) => [mail.key, mail] as const));
  return [...byKey.values()].filter(({ key }) => !except.has(key));
}

/** The mails, in the document store. */
export class MailQueue extends OutboxQueue<MailRecord> {
  readonly #recent: Documents<RecentMails>;
  /** The account that had the last turn. */
  #lastAccount = '';

  private constructor(mails: Documents<MailRecord>, recent: Documents<RecentMails>, clock: Clock) {
    super(mails, clock, { oldest: oldestPending() }, MAX_ATTEMPTS);
    this.#recent = recent;
  }

  static async open({ documents, clock }: { readonly documents: DocumentStore; readonly clock: Clock }) {
    const [mails, recent] = await Promise.all([documents.open(mailCollection), documents.open(recentMailsCollection)]);
    return new MailQueue(mails, recent, clock);
  }

  /** {@link addAll} for one mail. @returns false if that cause has already made one for the user */
  async add(mail: NewMail): Promise<boolean> {
    return (await this.addAll([mail])).length > 0;
  }

  /**
   * Stores pending mails. One waits for the digest of its user if the user was to get too many mails about bookings in the last hour.
   * @returns those whose cause had made none for the user yet
   */
  async addAll(mails: readonly NewMail[]): Promise<readonly MailRecord[]> {
    const now = this.clock();
    const byId = new Map(mails.map((mail) => [mailIdOf(mail), mail] as const));
    const digestAts = await this.#planned(byId, now);
    const records = newRecords([...byId.values()], now, digestAts);
    const stored = await Promise.all(
      records.map(async (record) => ((await this.insert(record.mailId, record)) ? [record] : [])),
    );
    return stored.flat();
  }

  /** Counts those of the mails that are new and limited. @returns the digests for which some of them wait, by the id of the mail */
  async #planned(
    mails: ReadonlyMap<string, NewMail>,
    now: number,
  ): Promise<ReadonlyMap<string, Timestamp | undefined>> {
    const digestAts = new Map<string, Timestamp | undefined>();
    const limited = [...mails].filter(([, { kind }]) => isLimited(kind));
    const known = await this.existing(limited.map(([mailId]) => mailId));
    const added = limited.filter(([mailId]) => !known.has(mailId));
    const byUser = Map.groupBy(added, ([, { userId }]) => userId);
    await Promise.all(
      Array.from(byUser, ([userId, ofUser]) => {
        const series = ofUser.map(([, { about }]) => seriesIn(about));
        return this.#recent.update(userId, (before) => {
          const planned = planMails(before, series, now);
          for (const [i, [mailId]] of ofUser.entries()) digestAts.set(mailId, planned.digestAts[i]);
          return planned.recent;
        });
      }),
    );
    return digestAts;
  }

  /** Mails that are due: urgent ones first, then those of each account in turn, of each account those that have been due for longest. */
  async due(limit: number, except: ReadonlySet<string>): Promise<readonly Mail[]> {
    const to = toTimestamp(this.clock());
    const most = limit + except.size;
    const urgent = await this.#read(dueBy(to, most, { lane: 'first' }));
    const longest = await this.#read(dueBy(to, most));
    const ofOthers = longest.length < most ? [] : await this.#ofNextAccounts(to);
    const ordinary = inTurns([...ofOthers, ...longest], turnOf);
    return distinct([...inTurns(urgent, turnOf), ...ordinary], except).slice(0, limit);
  }

  /** Due mails of the accounts whose turn is next, for when more mails are due than are read. */
  async #ofNextAccounts(to: Timestamp): Promise<readonly Mail[]> {
    const turns = new Map<AccountKey, readonly Mail[]>();
    for await (const account of this.#accountsFrom(this.#lastAccount)) {
      if (turns.has(account)) break;
      turns.set(account, await this.#read(dueBy(to, PER_TURN, { account })));
      this.#lastAccount = account;
      if (turns.size === ACCOUNTS) break;
    }
    return [...turns.values()].flat();
  }

  /** The accounts with pending mails: those after one, then all of them. */
  async *#accountsFrom(after: string): AsyncGenerator<AccountKey> {
    for (const above of [after, ''])
      for await (const { account } of this.firstOfEach((mail) => mail.account ?? '', firstPendingAfter, above))
        if (account !== undefined) yield account;
  }

  #read(query: Query<MailRecord>): Promise<readonly Mail[]> {
    return Array.fromAsync(this.records.find(query));
  }

  /** The mails of a user that go out with the digest that is due, with those that are due soon. The one that names it is the last. */
  async inDigest(userId: string): Promise<readonly Mail[]> {
    const now = this.clock();
    const due = await this.#read(dueBy(toTimestamp(now + DIGEST_AHEAD_MS), IN_DIGEST, { userId }));
    const age = ({ key, document }: Mail) => `${document.createdAt} ${key}`;
    return due
      .filter(({ document }) => document.inDigest === true && document.notAfter > toTimestamp(now))
      .toSorted((a, b) => (age(a) < age(b) ? 1 : -1));
  }

  /** A mail as it is now. @returns undefined if it is no longer pending, or its user was removed */
  async stillPending(mail: Mail): Promise<Mail | undefined> {
    const stored = await this.records.get(mail.key);
    return stored?.document.state === 'Pending' ? stored : undefined;
  }

  /** Makes a pending mail due later, without counting a try. */
  async postpone(stored: Mail, delayMs: number): Promise<void> {
    const postponed = (record: MailRecord) =>
      record.state === 'Pending' ? { ...record, ...dueIn(delayMs, this.clock()) } : undefined;
    await this.change(stored.key, postponed, stored);
  }

  /** Makes a mail that has failed pending again, with its tries. */
  async reopen(mailId: string, delayMs: number): Promise<void> {
    await this.change(mailId, (record) =>
      record.state === 'Failed' ? reopened(record, delayMs, this.clock()) : undefined,
    );
  }

  /** Makes mails due now that a wrong clock has put off. */
  async correctDue(): Promise<void> {
    const now = this.clock();
    await this.changeAll(pending({ due: { from: toTimestamp(now) } }), (record) => dueCorrected(record, now));
  }

  /** Makes a mail due now, with a day and a full schedule ahead of it. @returns undefined if there is none that may be resent */
  resend(mailId: string, mayResend: (record: MailRecord) => boolean): Promise<MailRecord | undefined> {
    return this.change(mailId, (record) => (mayResend(record) ? resent(record, this.clock()) : undefined));
  }

  /** Deletes all mails to a user. */
  async deleteOf(userId: string): Promise<void> {
    for await (const page of inPages(this.records.find(ofUser(userId)), PAGE))
      await Promise.all(page.map(({ key }) => this.records.delete(key)));
  }

  /** The last mails in a state, latest first: of all accounts, or of one. */
  list(state: MailState, limit: number, account?: AccountKey): Promise<readonly MailRecord[]> {
    return Array.fromAsync(this.records.find(inState(state, limit, account)), ({ document }) => document);
  }

  countPending(): Promise<number> {
    return this.records.count(pending());
  }
}
