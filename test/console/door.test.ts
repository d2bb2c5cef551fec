import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Account, communityOf } from '../../src/domain/account.ts';
import { communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

/** The sheet at the door of a space: today's times, at an address that is revoked like a calendar feed. */

let service: RunningService;
let account: Extract<Account, { kind: 'Community' }>;
let hall: number;
let loft: number;
let userId: string;

beforeAll(async () => {
  service = await runService();
  const community = await service.community('Europe/Berlin');
  account = communityOf({ communityId: communityId(community.id) });
  hall = await service.space(community, { name: 'Hall <1>' });
  loft = await service.space(community, { name: 'Loft' });
  const user = { email: 'desk@example.com', password: 'correct horse battery', accounts: [account] };
  userId = accepted(await service.core.users.add(user, BY_OPERATOR)).id;
  const brand = await service.brand('Acme & Co');
  await booked(brand.key, '2026-12-02', 10, true);
  await booked(brand.key, '2026-12-03', 10, true);
  await booked(brand.key, '2026-12-02', 18, false);
  const day = { from: '2026-12-02', to: '2026-12-02', communityId: account.id } as const;
  const { closures } = service.core.commands;
  const own = { ...day, kind: 'OwnEvent', start: 15, until: 16, title: 'Board meeting', spaceIds: [hall] };
  accepted(await closures.add(own as never, CONTEXT));
  const closed = { ...day, kind: 'Closure', start: 16, until: 17, title: 'Ada is ill', spaceIds: [hall] };
  accepted(await closures.add(closed as never, CONTEXT));
  service.time.now = Date.parse('2026-12-02T10:30:00Z');
});
afterAll(() => service.stop());

async function booked(key: string, startTime: string, startHour: number, isApproved: boolean): Promise<void> {
  const answer = await service.post('/bookings', { key, body: { spaceId: hall, startTime, startHour } });
  const bookingId = Number(answer.json().id);
  if (isApproved)
    accepted(await service.core.commands.bookings.approve({ bookingId, communityId: account.id }, CONTEXT));
}

async function sheet(spaceId: number, showsNames = true) {
  const wanted = { userId, account, spaceId, showsNames, isDoor: true } as const;
  return accepted(await service.core.commands.calendarFeeds.add(wanted, CONTEXT));
}
const open = (path: string) => service.call('GET', path);
const timesOn = (html: string) => [...html.matchAll(/class="hours">([^<]+)</g)].map(([, hours]) => hours);

test('shows what takes the space today, by its clock, and marks what is going on', async () => {
  expect(NOON).toBeLessThan(service.time.now);
  const { secret } = await sheet(hall);
  const { statusCode, body, headers } = await open(`/door/${secret}`);
  expect(statusCode).toBe(200);
  expect(timesOn(body)).toEqual(['10:00–14:00', '15:00–16:00', '16:00–17:00']);
  expect(body).toContain('Hall &lt;1&gt;');
  expect(body).toContain('Acme &amp; Co');
  expect(body).toContain('Board meeting');
  expect(body).not.toContain('Ada is ill');
  expect(body.match(/aria-current/g)).toHaveLength(1);
  // Without scripts, it loads itself again.
  expect(body).toContain('<noscript><meta http-equiv="refresh" content="30"></noscript>');
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'x-robots-tag': 'noindex',
    'referrer-policy': 'no-referrer',
  });
  expect(headers['set-cookie']).toBeUndefined();
});

test('shows no name where only busy times are wanted, and says that a space is free', async () => {
  const { body } = await open(`/door/${(await sheet(hall, false)).secret}`);
  expect(timesOn(body)).toEqual(['10:00–14:00', '15:00–16:00', '16:00–17:00']);
  for (const name of ['Acme', 'Board', 'Ada']) expect(body).not.toContain(name);
  expect((await open(`/door/${(await sheet(loft)).secret}`)).body).toContain('Free today');
});

test('its address opens no calendar, that of a calendar no sheet, and a revoked one nothing', async () => {
  const { secret, feedId } = await sheet(hall);
  expect((await open(`/calendar/${secret}.ics`)).statusCode).toBe(404);
  const calendar = { userId, account, spaceId: hall, showsNames: true };
  const feed = accepted(await service.core.commands.calendarFeeds.add(calendar, CONTEXT));
  expect((await open(`/door/${feed.secret}`)).statusCode).toBe(404);
  expect((await open('/door/x')).statusCode).toBe(404);
  expect(await service.core.commands.calendarFeeds.revoke({ feedId, by: account }, CONTEXT)).toBeUndefined();
  const revoked = await open(`/door/${secret}`);
  expect(revoked.statusCode).toBe(404);
  expect(revoked.headers).toMatchObject({ 'x-robots-tag': 'noindex' });
});

test('is of one space', async () => {
  const wanted = { userId, account, showsNames: true, isDoor: true } as const;
  expect(await service.core.commands.calendarFeeds.add(wanted, CONTEXT)).toMatchObject({
    refused: 'ValidationError',
    field: 'space',
  });
});
