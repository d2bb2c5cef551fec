import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { INBOX_SIZE, openInbox } from '../../src/mail/inbox.ts';
import type { NewMail } from '../../src/mail/mail.ts';
import { MailQueue } from '../../src/mail/mail-queue.ts';
import { openServerState } from '../../src/mail/server-state.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { SECRET_KEY } from '../webhooks/venue.ts';
import { watched } from '../webhooks/watched-documents.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe.each(documentEngines)('mails on %s', (_, createDatabase) => {
  let now: number;
  const clock = () => now;
  let database: TestDatabase;
  let store: OperatedDocumentStore;
  let queue: MailQueue;

  beforeEach(async () => {
    // The server removes expired documents by its own clock.
    now = Date.now();
    database = await createDatabase();
    store = await database.open();
    queue = await MailQueue.open({ documents: store, clock });
  });
  afterEach(() => database.remove());

  const mail = (cause: string, of: Partial<NewMail> = {}): NewMail => ({
    kind: 'BookingApproved',
    cause,
    userId: 'usr_1',
    account: 'Brand:7',
    about: { bookingId: 1 },
    at: toTimestamp(now),
    ...of,
  });
  const due = (limit = 10, except: readonly string[] = []) => queue.due(limit, new Set(except));
  const causes = async (limit?: number) => (await due(limit)).map(({ document }) => document.cause);
  const one = async () => (await due(1))[0] ?? expect.fail('Nothing is due');
  const attempt = { at: toTimestamp(0), code: 450, response: '450 Later' };

  test('the same cause makes one mail for a user, in two processes, too', async () => {
    const other = await MailQueue.open({ documents: await database.open(), clock });
    const added = await Promise.all([queue.add(mail('a')), other.add(mail('a')), other.add(mail('b'))]);
    expect(added.filter(Boolean)).toHaveLength(2);
    expect(await queue.add(mail('a', { userId: 'usr_2' }))).toBe(true);
    expect(await queue.add(mail('a', { kind: 'BookingDeclined' }))).toBe(true);
    expect(await due()).toHaveLength(4);
  });

  test('mails about requests of one series wait ten seconds for each other, and go out together', async () => {
    const about = { bookingId: 1, series: '0b5f3c1e-5f1d-4c53-9d0a-6f3f5a0c1d40' };
    await queue.add(mail('a', { kind: 'BookingRequested', about }));
    now += 5_000;
    await queue.add(mail('b', { kind: 'BookingRequested', about: { ...about, bookingId: 2 } }));
    expect(await causes()).toEqual([]);
    now += 5_000;
    expect(await causes()).toEqual(['a']);
    expect((await queue.inDigest('usr_1')).map(({ document }) => document.cause)).toEqual(['b', 'a']);
  });

  test('a series of thirty days is one mail, and the next mail goes out at once', async () => {
    const day = (bookingId: number) =>
      mail(`day-${bookingId}`, {
        kind: 'BookingRequested',
        about: { bookingId, series: '0b5f3c1e-5f1d-4c53-9d0a-6f3f5a0c1d40' },
      });
    await queue.addAll(Array.from({ length: 10 }, (_, i) => day(i + 1)));
    now += 2_000;
    for (let i = 11; i <= 30; i += 1) await queue.add(day(i));
    await queue.add(mail('next'));
    expect(await causes()).toEqual(['next']);
    now += 8_000;
    expect(await queue.inDigest('usr_1')).toHaveLength(30);
  });

  test('mails that are stored together are looked up once and counted once for each user', async () => {
    const calls: string[] = [];
    const counted = await MailQueue.open({
      documents: watched(store, { before: (method, collection) => calls.push(`${method} ${collection}`) }),
      clock,
    });
    const causes30 = Array.from({ length: 30 }, (_, i) => `cause-${i}`);
    const stored = await counted.addAll([...causes30.map((cause) => mail(cause)), mail('other', { userId: 'usr_2' })]);
    expect(stored.filter(({ inDigest }) => inDigest === true)).toHaveLength(10);
    const written = (name: string) => calls.filter((call) => call === name).length;
    expect([written('getMany mails'), written('update recentMails')]).toEqual([1, 2]);
    expect(await counted.addAll(causes30.map((cause) => mail(cause)))).toEqual([]);
    expect(await queue.inDigest('usr_1')).toEqual([]);
    now += HOUR_MS;
    expect(await queue.inDigest('usr_1')).toHaveLength(10);
  });

  test('what has been due for longest comes first, and what is in flight is left out', async () => {
    for (const cause of ['a', 'b', 'c', 'd']) {
      await queue.add(mail(cause));
      now += 1_000;
    }
    expect(await causes(2)).toEqual(['a', 'b']);
    const [first] = await due(1);
    expect((await due(2, [first?.key ?? ''])).map(({ document }) => document.cause)).toEqual(['b', 'c']);
    expect(await queue.oldest()).toMatchObject({ cause: 'a' });
    await queue.complete(await one(), [attempt], { state: 'Pending', delay: HOUR_MS, isTry: true });
    expect(await causes()).toEqual(['b', 'c', 'd']);
    // It still has waited longest.
    expect(await queue.oldest()).toMatchObject({ cause: 'a', tries: 1, attempts: [attempt] });
    now += HOUR_MS;
    expect(await causes()).toEqual(['b', 'c', 'd', 'a']);
  });

  test('an ended mail is kept for 30 days, listed by state and account, and can be sent again for a day', async () => {
    await queue.add(mail('a'));
    const stored = await one();
    await queue.complete(stored, [attempt], { state: 'Failed', reason: 'No' });
    const [failed] = await queue.list('Failed', 10, 'Brand:7');
    expect(failed).toMatchObject({ reason: 'No', expiresAt: toTimestamp(now + 30 * DAY_MS) });
    expect(await queue.list('Failed', 10, 'Brand:8')).toEqual([]);
    expect(await queue.list('Failed', 10)).toHaveLength(1);
    expect(await queue.stillPending(stored)).toBeUndefined();
    now += 3 * DAY_MS;
    expect(await queue.resend(stored.key, () => false)).toBeUndefined();
    expect(await queue.resend(stored.key, () => true)).toMatchObject({
      state: 'Pending',
      tries: 0,
      attempts: [attempt],
      notAfter: toTimestamp(now + DAY_MS),
    });
    await queue.complete(await one(), [{ ...attempt, code: 250 }], { state: 'Sent' });
    const [sent] = await queue.list('Sent', 10);
    expect(sent).not.toHaveProperty('reason');
    expect(await queue.resend('nothing', () => true)).toBeUndefined();
  });

  test('an attempt that ends after its mail was ended changes the state only if it was sent', async () => {
    await queue.add(mail('a'));
    const stored = await one();
    await queue.end(stored, { state: 'Skipped', reason: 'Gone' });
    await queue.complete(stored, [attempt], { state: 'Pending', delay: 0, isTry: true });
    expect(await queue.get(stored.key)).toMatchObject({ state: 'Skipped', reason: 'Gone', attempts: [attempt] });
    await queue.complete(stored, [{ ...attempt, code: 250 }], { state: 'Sent' });
    expect(await queue.get(stored.key)).toMatchObject({ state: 'Sent' });
  });

  test('a mail that a clock ahead has stored does not wait for that time', async () => {
    const ahead = await MailQueue.open({ documents: store, clock: () => now + 10 * DAY_MS });
    await ahead.add(mail('a'));
    await queue.add(mail('b'));
    await queue.complete(await one(), [attempt], { state: 'Pending', delay: HOUR_MS, isTry: true });
    expect(await causes()).toEqual([]);
    await queue.correctDue();
    expect(await causes()).toEqual(['a']);
  });

  test('all mails of a user can be deleted, and an attempt in flight stores none again', async () => {
    for (const cause of ['a', 'b']) await queue.add(mail(cause));
    await queue.add(mail('c', { userId: 'usr_2' }));
    const stored = await one();
    await queue.deleteOf('usr_1');
    await queue.complete(stored, [attempt], { state: 'Sent' });
    expect(await queue.list('Sent', 10)).toEqual([]);
    expect(await causes()).toEqual(['c']);
  });

  test('an outage of the mail server is seen in every process from its beginning to its end', async () => {
    const [one, other] = await Promise.all([
      openServerState({ documents: store, clock }),
      openServerState({ documents: await database.open(), clock }),
    ]);
    expect(await other.outage()).toBeUndefined();
    await one.isDown('NotReached');
    const since = toTimestamp(now);
    expect(await other.outage()).toEqual({ since, cause: 'NotReached' });
    now += HOUR_MS;
    await one.isDown('NoAnswer');
    expect(await other.outage()).toEqual({ since, cause: 'NoAnswer' });
    await one.isUp();
    expect(await other.outage()).toBeUndefined();
    const stored = await store.open<{ since: string; cause: string }>({
      name: 'mailServer',
      kind: 'readModel',
      indexes: [],
    });
    await stored.update('outage', () => ({ since, cause: 'it does not answer' }));
    expect(await other.outage()).toBeUndefined();
  });

  test('the inbox keeps its last mails, and none after it was cleared', async () => {
    const inbox = await openInbox({ documents: store, clock, secretKey: SECRET_KEY });
    const message = { to: 'ada@example.com', subject: 'Hello', text: 'Hello', html: '<p>Hello</p>', userId: 'usr_1' };
    const { signal } = new AbortController();
    for (let number = 0; number < INBOX_SIZE + 2; number += 1) {
      now += 1;
      await inbox.sender.send({ ...message, messageId: `<${number}@localhost>`, date: new Date(now) }, signal);
    }
    const kept = await inbox.list();
    expect([kept.length, kept[0]?.id, kept.at(-1)?.id]).toEqual([INBOX_SIZE, String(INBOX_SIZE + 1), '2']);
    await inbox.delete(() => true);
    expect(await inbox.list()).toEqual([]);
  });
});
