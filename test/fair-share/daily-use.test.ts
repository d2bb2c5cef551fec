import { expect, onTestFinished, test } from 'vitest';
import type { Account, Actor } from '../../src/domain/account.ts';
import { brandId } from '../../src/domain/ids.ts';
import { openDailyUses } from '../../src/quotas/daily-use.ts';
import { accepted } from '../accepted.ts';
import { createSqliteDatabase, documentEngines } from '../document-store/engines.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

/** What one account may write to the log in a day. */

const EVENTS = 60;
const BYTES = 20_000;
const DAY_MS = 24 * 3_600_000;

async function start(): Promise<RunningService> {
  const service = await runService({ ACCOUNT_EVENTS_PER_DAY: String(EVENTS), ACCOUNT_BYTES_PER_DAY: String(BYTES) });
  onTestFinished(() => service.stop());
  return service;
}

const by = (account: Account) => ({ ...CONTEXT, actor: { kind: 'user', id: 'usr_greedy', account } satisfies Actor });
const typesIn = ({ core }: RunningService) => Array.fromAsync(core.events.readAll(), ({ type }) => type);
const TOMORROW = 'It can go on at 2026-12-02 00:00 UTC.';

test('a closed time counts with all of its days before the first one is appended', async () => {
  const service = await start();
  const community = await service.community();
  const space = await service.space(community);
  const { closures } = service.core.commands;
  const close = (from: string, to: string, rest: object = {}) =>
    closures.add(
      { communityId: community.id, kind: 'Closure', from, to, start: 0, until: 24, spaceIds: [space], ...rest },
      by(community.account),
    );
  accepted(await close('2027-01-01', '2027-01-31'));
  const before = await typesIn(service);
  // 32 events so far, 29 more.
  const refused = await close('2027-02-01', '2027-02-28');
  // Midnight in UTC is twelve hours away.
  expect(refused).toMatchObject({
    refused: 'ValidationError',
    details: expect.stringContaining(TOMORROW),
    retryAfter: 43_200,
  });
  expect(await typesIn(service)).toEqual(before);
  // Bytes count as well: the title is in the log once.
  expect(await close('2027-03-01', '2027-03-20', { title: 'x'.repeat(200) })).toMatchObject({ days: 20 });
  const text = JSON.stringify(await Array.fromAsync(service.core.events.readAll({ types: ['TimeClosed'] })));
  expect(text).not.toContain('title');

  service.time.now += DAY_MS;
  expect(await close('2027-02-01', '2027-02-28')).toMatchObject({ days: 28 });
});

test('a day of a space holds a limited number of closed times, and the next one is left out with the reason', async () => {
  const service = await runService();
  onTestFinished(() => service.stop());
  const community = await service.community();
  const space = await service.space(community);
  const close = () =>
    service.core.commands.closures.add(
      {
        communityId: community.id,
        kind: 'Closure',
        from: '2027-01-01',
        to: '2027-01-01',
        start: 0,
        until: 1,
        spaceIds: [space],
      },
      CONTEXT,
    );
  for (let n = 0; n < 50; n += 1) accepted(await close());
  expect(await close()).toEqual({
    refused: 'SlotUnavailable',
    details: '2027-01-01 has 50 closed times and own events, as many as a day may.',
  });
});

test('an account that has written its share may still end what it has, and another account is not concerned', async () => {
  const service = await start();
  const community = await service.community();
  const space = await service.space(community, { durationHours: 1 });
  const [greedy, other] = [await service.brand('Greedy'), await service.brand('Other')];
  const book = (key: string, day: number, startHour: number) =>
    service.post('/bookings', { key, body: { spaceId: space, startTime: `2027-01-${String(day + 10)}`, startHour } });
  const answers = [];
  for (let n = 0; n < EVENTS + 5; n += 1) answers.push(await book(greedy.key, Math.floor(n / 10), 9 + (n % 10)));
  const booked = answers.filter(({ statusCode }) => statusCode === 201);
  expect(booked.length).toBeLessThanOrEqual(EVENTS);
  const refused = answers.at(-1);
  expect([refused?.statusCode, refused?.json().error]).toEqual([422, 'BookingNotAllowed']);
  expect(refused?.json().details).toContain(TOMORROW);
  expect(refused?.headers['retry-after']).toBe('43200');

  const { commands } = service.core;
  const bookingId = booked[0]?.json().id;
  accepted(await commands.bookings.approve({ bookingId, communityId: community.id }, by(community.account)));
  accepted(await commands.bookings.cancel({ bookingId, by: greedy.account }, by(greedy.account)));
  const { apiKeyId } = accepted(
    await commands.apiKeys.issue({ account: greedy.account, permissions: 1, label: 'Leaked' }, CONTEXT),
  );
  expect(
    await commands.apiKeys.issue({ account: greedy.account, permissions: 1, label: 'x' }, by(greedy.account)),
  ).toMatchObject({
    refused: 'ValidationError',
  });
  accepted(await commands.apiKeys.revoke({ apiKeyId, by: greedy.account }, by(greedy.account)));
  expect((await book(other.key, 15, 9)).statusCode).toBe(201);
});

test.each(documentEngines)('processes share a quota, also when they ask at once: %s', async (_, createDatabase) => {
  const database = await createDatabase();
  onTestFinished(() => database.remove());
  const account: Account = { kind: 'Brand', id: brandId(1) };
  const limits = { events: 1_000, bytes: 1_000_000 };
  const processes = await Promise.all(
    Array.from({ length: 3 }, async () =>
      openDailyUses({ documents: await database.open(), clock: () => NOON, limits }),
    ),
  );
  const outcomes = await Promise.all(
    Array.from({ length: 1_500 }, (_, n) => processes[n % 3]?.take(account, { events: 1, bytes: 100 })),
  );
  const taken = outcomes.filter((outcome) => outcome === undefined).length;
  // Each process may have some left of its last part.
  expect(taken).toBeLessThanOrEqual(limits.events);
  expect(taken).toBeGreaterThan(limits.events - 3 * 10);
  expect(await processes[0]?.take({ kind: 'Brand', id: brandId(2) }, { events: 1, bytes: 1_000_001 })).toMatchObject({
    retryAfter: expect.any(Number),
  });
});

test('processes that end take little of a quota with them, however often they start', async () => {
  const database = await createSqliteDatabase();
  onTestFinished(() => database.remove());
  const account: Account = { kind: 'Brand', id: brandId(1) };
  const limits = { events: 500_000, bytes: 250_000_000 };
  const documents = await database.open();
  for (let starts = 0; starts < 1_000; starts += 1) {
    const uses = await openDailyUses({ documents, clock: () => NOON, limits });
    expect(await uses.take(account, { events: 1, bytes: 500 }), `${starts} starts`).toBeUndefined();
  }
});
