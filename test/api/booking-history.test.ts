import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import type { Actor } from '../../src/domain/account.ts';
import { communityId } from '../../src/domain/ids.ts';
import { knownEvent } from '../../src/domain/known-event.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { type EnginePair, enginePairs } from '../engine-pairs.ts';
import { CONTEXT, NOON, type RunningService, runService } from '../running-service.fixture.ts';

describe.each(enginePairs)('on %s', (_name, createPair) => {
  let service: RunningService;
  let community: Awaited<ReturnType<RunningService['community']>>;
  let brand: Awaited<ReturnType<RunningService['brand']>>;
  let space: number;
  let days = 0;
  let pair: EnginePair;
  /** Until the test ends, commands that run inside this process use the stores of the service. */
  const useStores = () => useDataDir(service.config.dataDir, pair.settings);

  beforeAll(async () => {
    pair = await createPair();
    service = await runService(pair.settings);
    community = await service.community();
    brand = await service.brand('Northwind');
    space = await service.space(community);
  });
  afterAll(async () => {
    await service.stop();
    await pair.stop();
  });
  beforeEach(() => {
    service.time.now = NOON;
    days += 1;
  });

  const date = () => `2027-01-${String(days).padStart(2, '0')}`;
  const minutes = (count: number) => {
    service.time.now += count * 60_000;
  };
  const iso = (milliseconds: number) => new Date(milliseconds).toISOString();

  async function booked(key = brand.key, startHour = 10): Promise<number> {
    const answer = await service.post('/bookings', { key, body: { spaceId: space, startTime: date(), startHour } });
    expect(answer.statusCode).toBe(201);
    return answer.json().id;
  }
  const approve = async (bookingId: number, actor: Actor = CONTEXT.actor) =>
    accepted(
      await service.core.commands.bookings.approve(
        { bookingId, communityId: communityId(community.id) },
        { ...CONTEXT, actor },
      ),
    );
  const historyOf = async (id: number, key: string, query = '') =>
    (await service.get(`/bookings/${id}/history${query}`, { key })).json();
  const actorsIn = (history: readonly { readonly actor: object }[]) => history.map(({ actor }) => actor);

  describe('the actor', () => {
    test('is shown by name to its own account and as an account to the other party, in REST, MCP and the console', async () => {
      const { users } = service.core;
      const email = 'host@example.com';
      const user = accepted(
        await users.add({ email, password: 'correct horse battery', accounts: [community.account] }, BY_OPERATOR),
      );
      const id = await booked();
      await approve(id, { kind: 'user', id: user.id, account: community.account });

      const ofBrand = await historyOf(id, brand.key);
      const ofCommunity = await historyOf(id, community.key);
      expect(actorsIn(ofBrand)).toEqual([
        { kind: 'apiKey', id: expect.stringMatching(/^key_/), name: 'Test', account: brand.account },
        { kind: 'account', name: 'Harbour', account: community.account },
      ]);
      expect(actorsIn(ofCommunity)).toEqual([
        { kind: 'account', name: 'Northwind', account: brand.account },
        { kind: 'user', id: user.id, name: email, account: community.account },
      ]);
      expect(JSON.stringify(ofBrand)).not.toContain(user.id);
      expect(JSON.stringify(ofBrand)).not.toContain(email);
      expect(JSON.stringify(ofCommunity)).not.toContain('key_');

      // The name of a removed user is gone for every reader; the entries stay.
      await users.remove(user.id, BY_OPERATOR);
      expect(actorsIn(await historyOf(id, community.key))[1]).toEqual({
        kind: 'user',
        id: user.id,
        account: community.account,
      });
    });

    test('a revoked key keeps its label, and so does a removed client', async () => {
      const { commands, authorizationServer } = service.core;
      const key = { account: brand.account, permissions: 31, label: 'Front desk' };
      const issued = accepted(await commands.apiKeys.issue(key, CONTEXT));
      const id = await booked(issued.key);
      await commands.apiKeys.revoke({ apiKeyId: issued.apiKeyId }, CONTEXT);
      expect(actorsIn(await historyOf(id, brand.key))).toMatchObject([{ id: issued.apiKeyId, name: 'Front desk' }]);

      const own = { account: community.account, name: 'Nightly import' } as const;
      const { clientId } = accepted(await authorizationServer.clients.addClient(own, BY_OPERATOR));
      await approve(id, { kind: 'client', id: clientId, account: community.account });
      const named = { kind: 'client', id: clientId, name: 'Nightly import' };
      expect(actorsIn(await historyOf(id, community.key))[1]).toMatchObject(named);
      await authorizationServer.clients.removeClient(clientId, BY_OPERATOR);
      expect(actorsIn(await historyOf(id, community.key))[1]).toMatchObject(named);
    });

    test('renaming the actor changes the entity tag, so an outdated response is never confirmed', async () => {
      const email = 'later@example.com';
      const added = { email, password: 'correct horse battery', accounts: [community.account] };
      const user = accepted(await service.core.users.add(added, BY_OPERATOR));
      const id = await booked();
      await approve(id, { kind: 'user', id: user.id, account: community.account });
      const get = (key: string, held = '') =>
        service.get(`/bookings/${id}/history`, { key, headers: { 'if-none-match': held } });
      const [ours, theirs] = [await get(community.key), await get(brand.key)];
      const tagOf = ({ headers }: typeof ours) => String(headers.etag);
      expect((await get(community.key, tagOf(ours))).statusCode).toBe(304);
      await service.core.users.remove(user.id, BY_OPERATOR);
      expect((await get(community.key, tagOf(ours))).statusCode).toBe(200);
      expect((await get(brand.key, tagOf(theirs))).statusCode).toBe(304);
    });

    test('no webhook delivery names the credential', async () => {
      const id = await booked();
      for await (const stored of service.core.events.readStream(`spaceDay-${space}-${date()}`)) {
        const event = knownEvent(stored);
        if (event.type === 'BookingRequested') expect(JSON.stringify(noticeOf(event))).not.toMatch(/key_|actor/);
      }
      expect(id).toBeGreaterThan(0);
    });
  });

  describe('as of', () => {
    test('shows the events up to a time, in any ISO 8601 notation', async () => {
      const id = await booked();
      minutes(10);
      await approve(id);
      const events = async (asOf: string) =>
        (await historyOf(id, brand.key, `?asOf=${encodeURIComponent(asOf)}`)).map(
          ({ event }: { event: string }) => event,
        );
      expect(await events(iso(NOON - 1))).toEqual([]);
      expect(await events(iso(NOON))).toEqual(['BookingRequested']);
      expect(await events('2026-12-01T13:09:59+01:00')).toEqual(['BookingRequested']);
      expect(await events('2026-12-01T13:10:00+01:00')).toEqual(['BookingRequested', 'BookingApproved']);
      expect(await events('2999-01-01T00:00:00Z')).toEqual(['BookingRequested', 'BookingApproved']);
    });

    test('the stream order decides when the clock went back, also between bookings of the same day', async () => {
      const first = await booked();
      minutes(60);
      const second = await booked(brand.key, 15);
      service.time.now = NOON + 10 * 60_000;
      await approve(first);
      const asOf = encodeURIComponent(iso(NOON + 30 * 60_000));
      expect(await historyOf(first, brand.key, `?asOf=${asOf}`)).toMatchObject([{ event: 'BookingRequested' }]);
      expect(await historyOf(second, brand.key, `?asOf=${asOf}`)).toEqual([]);
      expect(await historyOf(first, brand.key)).toHaveLength(2);
    });

    test.each([
      '',
      'yesterday',
      '2026-12-01',
      '2026-12-01T12:00:00',
      '2026-13-01T12:00:00Z',
      '2026-12-01T12:00:00 01:00',
    ])('refuses %j before checking whether the booking exists', async (asOf) => {
      for (const id of [await booked(), 999_999]) {
        const answer = await service.get(`/bookings/${id}/history?asOf=${encodeURIComponent(asOf)}`, {
          key: brand.key,
        });
        expect([answer.statusCode, answer.json()]).toEqual([
          400,
          {
            error: 'ValidationError',
            details: expect.stringContaining('asOf must be ISO 8601 with a time zone, such as 2026-03-01T12:00:00Z'),
          },
        ]);
        days += 1;
      }
      const unknown = await service.get(`/bookings/999999/history?asOf=${asOf}`, { key: 'vbs_live_x' });
      expect(unknown.statusCode).toBe(401);
    });
  });

  describe('on the command line', () => {
    test('prints the events and the state they fold to, as of a time or after a revision', async () => {
      useStores();
      const id = await booked();
      minutes(10);
      await approve(id);
      const all = await json('booking', 'history', String(id));
      expect(all).toMatchObject({
        booking: { id, status: 'Approved' },
        events: [
          { bookingId: id, revision: 0, event: 'BookingRequested', actor: { kind: 'apiKey', name: 'Test' } },
          { bookingId: id, revision: 1, event: 'BookingApproved', actor: { kind: 'operator', id: 'test' } },
        ],
      });
      const then = await json('booking', 'history', String(id), '--as-of', iso(NOON + 60_000));
      expect(then).toMatchObject({ booking: { id, status: 'Pending' }, events: [{}] });
      expect(await json('booking', 'history', String(id), '--revision', '0')).toEqual(then);
      const before = await json('booking', 'history', String(id), '--as-of', '2026-11-30');
      expect(before).toEqual({ booking: null, events: [] });

      const shown = await inProcess('booking', 'history', String(id), '--revision', '0');
      expect(shown).toMatchObject({ code: 0, stderr: '' });
      expect(shown.stdout).toMatch(
        /BookingRequested +.*kind apiKey, .*name Test, account kind Brand id \d+ +status to Pending/,
      );
      expect(shown.stdout).toMatch(/booking.status +Pending/);
      expect((await inProcess('booking', 'history', String(id), '--as-of', '2026-11-30')).stdout).toMatch(
        /booking +none/,
      );
      const { stdout: csv } = await inProcess('booking', 'history', String(id), '--csv');
      const [header, ...rows] = csv.split('\r\n');
      expect(rows.pop()).toBe('');
      expect(header).toBe('\ufeffrevision,at,event,bookingId,status,actorKind,actorId,actorName,account,changes');
      expect(rows).toHaveLength(2);
      expect(rows[1]).toMatch(
        /^1,2026-12-01T12:10:00.000Z,BookingApproved,\d+,Approved,operator,test,,,"status Pending → Approved, charge 230"$/,
      );
    });

    test('prints the texts of a booking, in the booking and in the events', async () => {
      useStores();
      const body = { spaceId: space, startTime: date(), startHour: 10, message: 'For forty people.' };
      const { id } = (await service.post('/bookings', { key: brand.key, body })).json();
      const by = { kind: 'Community', id: communityId(community.id) } as const;
      const reason = 'Water damage.';
      accepted(await service.core.commands.bookings.cancel({ bookingId: id, by, reason }, CONTEXT));
      const booking = { id, message: body.message, reason };
      const events = [{ changes: { message: { to: body.message } } }, { changes: { reason: { to: reason } } }];
      expect(await json('booking', 'history', String(id))).toMatchObject({ booking, events });
      expect(await json('day', String(space), date())).toMatchObject({ bookings: [booking], events });
      const { stdout } = await inProcess('day', String(space), date(), '--csv');
      expect(stdout).toMatch(/For forty people\..*Water damage\./s);
    });

    test('prints a day with all its bookings', async () => {
      useStores();
      const late = await booked(brand.key, 15);
      minutes(10);
      const early = await booked(brand.key, 10);
      minutes(10);
      await approve(late);
      const day = await json('day', String(space), date());
      expect(day).toMatchObject({
        spaceId: space,
        date: date(),
        bookings: [
          { id: early, status: 'Pending' },
          { id: late, status: 'Approved' },
        ],
        events: [
          { revision: 0, bookingId: late },
          { revision: 1, bookingId: early },
          { revision: 2, bookingId: late, changes: { status: { from: 'Pending', to: 'Approved' } } },
        ],
      });
      const then = await json('day', String(space), date(), '--as-of', iso(NOON));
      expect(then).toMatchObject({ bookings: [{ id: late, status: 'Pending' }], events: [{ revision: 0 }] });
      expect(await json('day', String(space), date(), '--revision', '0')).toEqual(then);
      expect(await json('day', String(space), '2027-06-01')).toMatchObject({ bookings: [], events: [] });
      const { stdout } = await inProcess('day', String(space), date());
      expect(stdout).toMatch(/bookings\n.*Great Hall.*Northwind.*events\n.*BookingApproved/s);
      expect((await inProcess('day', String(space), date(), '--csv')).stdout.trim().split('\r\n')).toHaveLength(4);
    });

    test.each([
      [['booking', 'history', '999999'], 1, /^ResourceNotFound: There is no booking 999999\.\n$/],
      [['day', '999', '2027-01-01'], 1, /^ResourceNotFound: There is no space 999\.\n$/],
      [['day', '1', '2027-02-30'], 2, /It must be a date/],
      [['booking', 'history', '1', '--as-of', 'noon'], 2, /It must be ISO 8601 with a time zone/],
      [['booking', 'history', '1', '--as-of', '2026-12-01', '--revision', '1'], 2, /cannot be used with/],
      [['booking', 'history', '1', '--revision', '-1'], 2, /whole number/],
    ])('%j prints a one-line error', async (args, code, line) => {
      useStores();
      const ended = await inProcess(...args);
      expect(ended).toMatchObject({ code, stdout: '' });
      expect(ended.stderr).toMatch(line);
      expect(ended.stderr.trim()).not.toContain('\n');
    });

    test('JSON and CSV together are a usage error', async () => {
      useStores();
      const { code, stderr } = await inProcess('booking', 'history', '1', '--csv', '--json');
      expect([code, JSON.parse(stderr).error]).toEqual([2, 'ValidationError']);
    });
  });
});
