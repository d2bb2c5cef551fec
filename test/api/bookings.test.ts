import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { everyDocument } from '../../src/document-store/queries.ts';
import { ALL_PERMISSIONS, Permission } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let space: number;

beforeAll(async () => {
  service = await runService();
  community = await service.community();
  brand = await service.brand();
  space = await service.space(community);
});
afterAll(() => service.stop());

const book = (body: unknown, key = brand.key, headers: Record<string, string> = {}) =>
  service.post('/bookings', { key, body, headers });
const wish = (startTime: string, startHour = 10, more = {}) => ({ spaceId: space, startTime, startHour, ...more });

describe('POST /bookings', () => {
  test('returns 201 with a Pending BookingDto and nothing else', async () => {
    const answer = await book(wish('2026-12-10', 10, { message: 'Hello', unknown: true }));
    expect(answer.statusCode).toBe(201);
    expect(answer.json()).toEqual({
      id: expect.any(Number),
      spaceId: space,
      spaceName: 'Great Hall',
      date: '2026-12-10',
      startHour: 10,
      endHour: 14,
      status: 'Pending',
      totalPrice: 230,
      createdAt: '2026-12-01T12:00:00.000Z',
      brandName: 'Acme',
      message: 'Hello',
    });
  });

  test('returns the usable hours when the event would run past the booking window', async () => {
    expect((await book(wish('2026-12-10', 20))).json()).toMatchObject({ endHour: 23, usageHours: 2 });
  });

  test.each([
    ['a taken slot', wish('2026-12-10', 12), 'SlotUnavailable', /overlaps/],
    ['an hour outside the window', wish('2026-12-12', 8), 'SlotUnavailable', /window/],
    ['a past date', wish('2026-11-30'), 'BookingNotAllowed', /past/],
    ['a date more than five years ahead', wish('2031-12-02'), 'BookingNotAllowed', /next 5 years/],
    ['the last year of the calendar', wish('9998-12-02'), 'BookingNotAllowed', /next 5 years/],
  ])('%s is 422', async (_, body, error, details) => {
    const answer = await book({ ...body, spaceId: space });
    expect(answer.statusCode).toBe(422);
    expect(answer.json()).toEqual({ error, details: expect.stringMatching(details) });
  });

  test('an inactive space is 422 BookingNotAllowed', async () => {
    const closed = await service.space(community);
    await service.core.commands.catalogue.closeSpace(closed, CONTEXT);
    const answer = await book({ ...wish('2026-12-10'), spaceId: closed });
    expect([answer.statusCode, answer.json().error]).toEqual([422, 'BookingNotAllowed']);
  });

  test('an unknown space is 404', async () => {
    expect((await book({ ...wish('2026-12-10'), spaceId: 4_711 })).json().error).toBe('ResourceNotFound');
  });

  test.each([
    ['spaceId', { spaceId: undefined }],
    ['spaceId', { spaceId: '1' }],
    ['spaceId', { spaceId: 1.5 }],
    ['startTime', { startTime: undefined }],
    ['startTime', { startTime: '2026-02-30' }],
    ['startTime', { startTime: 20261210 }],
    ['startHour', { startHour: undefined }],
    ['startHour', { startHour: '5' }],
    ['startHour', { startHour: 24 }],
    ['startHour', { startHour: -1 }],
    ['startHour', { startHour: 9.5 }],
    ['startHour', { startHour: null }],
    ['message', { message: 'x'.repeat(501) }],
    ['message', { message: 5 }],
  ])('an invalid %s (%j) is a 400 that names it', async (field, wrong) => {
    const answer = await book({ ...wish('2026-12-13'), ...wrong });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ error: 'ValidationError', details: expect.stringContaining(field) });
  });

  test.each([
    [{ startTime: '2026-02-30' }, 'startTime must be a date in the form YYYY-MM-DD.'],
    [{ startHour: 24 }, 'startHour must be a whole number, 0 to 23.'],
    [{ startHour: 9.5 }, 'startHour must be a whole number, 0 to 23.'],
    [{ message: 'x'.repeat(501) }, 'message must have at most 500 characters.'],
  ])('refuses %j with the domain’s message', async (wrong, words) => {
    const answer = await book({ ...wish('2026-12-13'), ...wrong });
    expect(answer.json()).toEqual({ error: 'ValidationError', details: words });
  });

  test('an idempotency key has 1 to 255 characters', async () => {
    const answer = await book(wish('2026-12-13'), brand.key, { 'idempotency-key': 'x'.repeat(256) });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().details).toBe('idempotency-key must have 1 to 255 characters.');
  });

  test('a message may have 500 characters, and an emoji counts as one', async () => {
    expect((await book(wish('2026-12-14', 10, { message: '🎉'.repeat(500) }))).statusCode).toBe(201);
  });

  test('a Community key is 403 ScopeViolation, even with an invalid body', async () => {
    const answer = await service.post('/bookings', { key: community.key, body: {} });
    expect([answer.statusCode, answer.json().error]).toEqual([403, 'ScopeViolation']);
  });

  test('a key without WriteBookings is 403 InsufficientPermissions', async () => {
    for (const account of [brand.account, community.account]) {
      const key = await service.key(account, 31 - 4);
      const answer = await service.post('/bookings', { key, body: {} });
      expect([answer.statusCode, answer.json().error]).toEqual([403, 'InsufficientPermissions']);
    }
  });

  describe('Idempotency-Key', () => {
    test('the same key and body return the first booking', async () => {
      const headers = { 'idempotency-key': 'once' };
      const first = await book(wish('2026-12-15'), brand.key, headers);
      await service.core.commands.bookings.approve({ bookingId: first.json().id, communityId: community.id }, CONTEXT);
      const again = await book(wish('2026-12-15'), brand.key, headers);
      expect(again.statusCode).toBe(201);
      expect(again.json()).toEqual(first.json());
    });
    test('fifty concurrent requests make one booking', async () => {
      const headers = { 'idempotency-key': 'burst' };
      const answers = await Promise.all(Array.from({ length: 50 }, () => book(wish('2026-12-16'), brand.key, headers)));
      expect(new Set(answers.map((answer) => answer.statusCode))).toEqual(new Set([201]));
      expect(new Set(answers.map((answer) => answer.json().id)).size).toBe(1);
    });
    test('the same key with another body is 422, on the same day and on another', async () => {
      const headers = { 'idempotency-key': 'twice' };
      await book(wish('2026-12-17'), brand.key, headers);
      for (const other of [wish('2026-12-17', 15), wish('2026-12-18')]) {
        const answer = await book(other, brand.key, headers);
        expect([answer.statusCode, answer.json().error]).toEqual([422, 'BookingNotAllowed']);
      }
    });
    test('a refused request releases its key for another request', async () => {
      const records = await service.core.documents.open({ name: 'idempotencyKeys', kind: 'record', indexes: [] });
      const count = () => records.count(everyDocument());
      const before = await count();
      for (let i = 0; i < 5; i += 1) {
        const refused = await book(wish('2026-12-15'), brand.key, { 'idempotency-key': `refused-${i}` });
        expect([refused.statusCode, refused.json().error]).toEqual([422, 'SlotUnavailable']);
      }
      expect(await count()).toBe(before);
      const other = await book(wish('2026-12-15', 15), brand.key, { 'idempotency-key': 'refused-0' });
      const again = await book(wish('2026-12-15', 15), brand.key, { 'idempotency-key': 'refused-0' });
      expect([other.statusCode, again.json()]).toEqual([201, other.json()]);
      expect(await count()).toBe(before + 1);
    });
    test('null in an optional member counts as absent, for the comparison too', async () => {
      const headers = { 'idempotency-key': 'null' };
      const first = await book(wish('2026-12-18', 10, { message: null }), brand.key, headers);
      const again = await book(wish('2026-12-18'), brand.key, headers);
      expect([first.statusCode, again.statusCode, again.json()]).toEqual([201, 201, first.json()]);
      const history = await service.get(`/bookings/${first.json().id}/history`, { key: brand.key });
      expect(history.json()[0].changes).not.toHaveProperty('message');
    });
    test('another brand may use the same key', async () => {
      const other = await service.brand('Other');
      const headers = { 'idempotency-key': 'once' };
      expect((await book(wish('2026-12-19'), other.key, headers)).statusCode).toBe(201);
    });
  });

  test('of fifty concurrent requests for one slot, one gets 201 and forty-nine get 422', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => book(wish('2026-12-20'))));
    const codes = answers.map((answer) => `${answer.statusCode} ${answer.json().error ?? ''}`);
    expect(codes.filter((code) => code === '201 ')).toHaveLength(1);
    expect(codes.filter((code) => code === '422 SlotUnavailable')).toHaveLength(49);
  });
});

describe('GET /bookings', () => {
  test('each party sees its own bookings, sorted by date and filtered', async () => {
    const host = await service.community('UTC', 'Host');
    const room = await service.space(host);
    const [one, two] = [await service.brand('One'), await service.brand('Two')];
    const made = async (key: string, startTime: string) =>
      (await book({ spaceId: room, startTime, startHour: 10 }, key)).json().id as number;
    const second = await made(one.key, '2026-12-22');
    const first = await made(one.key, '2026-12-21');
    const theirs = await made(two.key, '2026-12-23');
    accepted(await service.core.commands.bookings.approve({ bookingId: second, communityId: host.id }, CONTEXT));

    const ids = async (key: string, query = '') =>
      (await service.get(`/bookings${query}`, { key })).json().map(({ id }: { id: number }) => id);
    expect(await ids(one.key)).toEqual([first, second]);
    expect(await ids(two.key)).toEqual([theirs]);
    expect(await ids(host.key)).toEqual([first, second, theirs]);
    expect(await ids(host.key, '?startDate=2026-12-22')).toEqual([second, theirs]);
    expect(await ids(host.key, '?endDate=2026-12-22')).toEqual([first, second]);
    expect(await ids(host.key, '?startDate=2026-12-22&endDate=2026-12-22')).toEqual([second]);
    expect(await ids(host.key, '?status=Pending')).toEqual([first, theirs]);
    expect(await ids(host.key, '?status=Approved&startDate=2026-12-01')).toEqual([second]);
    expect(await ids(host.key, '?status=Completed')).toEqual([]);
    expect(await ids((await service.community('UTC', 'Nobody')).key)).toEqual([]);
  });

  test.each(['status=pending', 'status=', 'startDate=2026-02-30', 'endDate=tomorrow', 'startDate='])(
    '?%s is a 400 that names the parameter',
    async (query) => {
      const answer = await service.get(`/bookings?${query}`, { key: brand.key });
      expect(answer.statusCode).toBe(400);
      expect(answer.json().details).toContain(query.split('=')[0]);
    },
  );

  test('dates in the wrong order are a 400, as they are for assistants and on the command line', async () => {
    const answer = await service.get('/bookings?startDate=2026-12-11&endDate=2026-12-10', { key: brand.key });
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      { error: 'ValidationError', details: 'startDate must not be after endDate.' },
    ]);
    const day = await service.get('/bookings?startDate=2026-12-10&endDate=2026-12-10', { key: brand.key });
    expect(day.statusCode).toBe(200);
  });

  test('an invalid status gets a list of the valid ones', async () => {
    const { details } = (await service.get('/bookings?status=pending', { key: brand.key })).json();
    expect(details).toBe('status must be one of Pending, Approved, Cancelled, Completed.');
  });
});

describe('GET /bookings/{id}', () => {
  test('is the booking as the list has it, for its two parties only', async () => {
    const host = await service.community('UTC', 'Hosts');
    const room = await service.space(host);
    const [own, other] = [await service.brand('Own'), await service.brand('Other')];
    const wanted = { spaceId: room, startTime: '2026-12-21', startHour: 10, message: 'Forty guests' };
    const { id } = (await book(wanted, own.key)).json();
    accepted(await service.core.commands.bookings.approve({ bookingId: id, communityId: host.id }, CONTEXT));
    const [listed] = (await service.get('/bookings', { key: own.key })).json();
    const found = await Promise.all([own.key, host.key].map((key) => service.get(`/bookings/${id}`, { key })));
    for (const one of found) expect([one.statusCode, one.json()]).toEqual([200, listed]);
    expect(listed).toMatchObject({ id, status: 'Approved', brandName: 'Own', message: 'Forty guests' });

    const [first] = found;
    const headers = { 'if-none-match': String(first?.headers.etag) };
    expect((await service.get(`/bookings/${id}`, { key: own.key, headers })).statusCode).toBe(304);
    for (const [path, key] of [
      [`/bookings/${id}`, other.key],
      [`/bookings/${id}`, (await service.community('UTC', 'Others')).key],
      ['/bookings/4711', own.key],
    ] as const) {
      const hidden = await service.get(path, { key });
      const details = `There is no booking ${path.split('/').at(-1)}.`;
      expect([hidden.statusCode, hidden.json()]).toEqual([404, { error: 'ResourceNotFound', details }]);
    }
    const blind = await service.key(own.account, ALL_PERMISSIONS - Permission.ReadBookings);
    expect((await service.get(`/bookings/${id}`, { key: blind })).json().error).toBe('InsufficientPermissions');
    expect((await service.get('/bookings/x', { key: own.key })).statusCode).toBe(400);
  });
});

describe('GET /bookings/{id}/history', () => {
  test('shows each event with its time, actor and changes', async () => {
    const { id } = (await book(wish('2026-12-24', 10, { message: 'Hi' }))).json();
    service.time.now += 60_000;
    accepted(await service.core.commands.bookings.approve({ bookingId: id, communityId: community.id }, CONTEXT));
    const by = { kind: 'Community', id: community.id } as const;
    accepted(await service.core.commands.bookings.cancel({ bookingId: id, by, reason: 'Flood' }, CONTEXT));

    const answer = await service.get(`/bookings/${id}/history`, { key: brand.key });
    expect(answer.json()).toMatchObject([
      {
        event: 'BookingRequested',
        at: '2026-12-01T12:00:00.000Z',
        actor: { kind: 'apiKey', id: expect.stringMatching(/^key_/), account: { kind: 'Brand', id: brand.id } },
        changes: { status: { to: 'Pending' }, message: { to: 'Hi' }, totalPrice: { to: 230 } },
      },
      {
        event: 'BookingApproved',
        at: '2026-12-01T12:01:00.000Z',
        changes: { status: { from: 'Pending', to: 'Approved' }, charge: { to: 230 } },
      },
      {
        event: 'BookingCancelled',
        changes: { status: { from: 'Approved', to: 'Cancelled' }, reason: { to: 'Flood' }, refund: { to: 230 } },
      },
    ]);
    expect((await service.get(`/bookings/${id}/history`, { key: community.key })).json()).toHaveLength(3);
  });

  test('returns 404 for a booking of another account', async () => {
    const { id } = (await book(wish('2026-12-25'))).json();
    const stranger = await service.brand('Stranger');
    expect((await service.get(`/bookings/${id}/history`, { key: stranger.key })).statusCode).toBe(404);
    expect((await service.get('/bookings/999999/history', { key: brand.key })).statusCode).toBe(404);
    expect((await service.get('/bookings/x/history', { key: brand.key })).statusCode).toBe(400);
  });
});

test('the scheduler cancels unanswered requests and completes approved ones', async () => {
  const { createScheduler } = await import('../../src/scheduler/scheduler.ts');
  const room = await service.space(community);
  const made = async (startTime: string) =>
    (await book({ spaceId: room, startTime, startHour: 10 })).json().id as number;
  const [unanswered, kept] = [await made('2027-01-10'), await made('2027-01-11')];
  accepted(await service.core.commands.bookings.approve({ bookingId: kept, communityId: community.id }, CONTEXT));
  const scheduler = createScheduler({
    bookings: service.core.commands.bookings,
    readModels: service.core.projector.readModels,
    clock: () => service.time.now,
    clockProblem: async () => undefined,
    logger: service.core.logger,
  });
  const status = async (id: number) => (await service.core.queries.bookings.get(brand.account, id))?.status;

  service.time.now = Date.parse('2027-01-05T00:00:00Z');
  await scheduler.runOnce();
  expect([await status(unanswered), await status(kept)]).toEqual(['Cancelled', 'Approved']);
  service.time.now = Date.parse('2027-01-11T13:00:00Z');
  await scheduler.runOnce();
  expect(await status(kept)).toBe('Completed');
  expect(await scheduler.runOnce()).toBe(0);
  const [last] = (await service.get(`/bookings/${unanswered}/history`, { key: brand.key })).json().slice(-1);
  expect(last).toMatchObject({ actor: { kind: 'system' }, changes: { cancelledBy: { to: 'System' } } });
});

test('a booking can be made and repeated while the projector is stopped', async () => {
  const still = await runService();
  const host = await still.community();
  const guest = await still.brand();
  const body = { spaceId: await still.space(host), startTime: '2026-12-10', startHour: 10 };
  await still.core.projector.stop();
  const ask = () => still.post('/bookings', { key: guest.key, body, headers: { 'idempotency-key': 'k' } });
  const first = await ask();
  const again = await ask();
  expect([first.statusCode, again.statusCode]).toEqual([201, 201]);
  expect(again.json()).toEqual(first.json());
  await still.stop();
});
