import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { lacks } from '../lacks.ts';
import { envInVenv, inVenv } from '../python.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { ALL_CALLED, MOVED_AND_ADDED, type ServiceForClients, serviceForClients } from './signed-in.ts';

const run = promisify(execFile);
const here = (path: string) => new URL(path, import.meta.url).pathname;

const GENERATOR = inVenv('openapi-python-client', 'openapi_python_client');
const OAUTH = inVenv('requests-oauthlib', 'requests_oauthlib');
const CALENDAR = inVenv('icalendar', 'icalendar', 'tzdata');
const MCP = inVenv('FastMCP and the strict mode of openai-agents', 'fastmcp', 'agents');

/** Sample code of an integrator that uses the generated package. */
const SCRIPT = `
import datetime, json, sys
from venue import AuthenticatedClient
from venue.api.bookings import create_booking, get_booking_history, list_bookings, move_booking
from venue.api.customers import create_customer, list_customers
from venue.api.spaces import get_availability
from venue.models import BookingDto, CreateBooking, CreateCustomer, Error, ErrorCode, MoveBooking

base_url, key, space, community_key = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
client = AuthenticatedClient(base_url=base_url, token=key)
day = datetime.date(2026, 12, 10)
slots = get_availability.sync(space, client=client, date=day).time_slots
hour = next(slot.hour for slot in slots if slot.is_available)
body = CreateBooking(space_id=space, start_time=day, start_hour=hour)
booked = create_booking.sync(client=client, body=body, idempotency_key="first")
assert isinstance(booked, BookingDto) and booked.date == day, booked
again = create_booking.sync(client=client, body=body, idempotency_key="first")
assert again == booked, again
taken = create_booking.sync_detailed(client=client, body=body)
assert isinstance(taken.parsed, Error), taken
assert taken.parsed.error == ErrorCode.SLOTUNAVAILABLE, taken
missing = get_booking_history.sync_detailed(4711, client=client)
assert isinstance(missing.parsed, Error), missing
house = AuthenticatedClient(base_url=base_url, token=community_key)
to = MoveBooking(start_time=datetime.date(2026, 12, 11))
asked = move_booking.sync(booked.id, client=client, body=to)
moved = move_booking.sync(booked.id, client=house, body=to)
create_customer.sync(client=house, body=CreateCustomer(name="Choir"))
print(json.dumps({
    "asked": asked.move.date.isoformat(),
    "moved": [moved.date.isoformat(), moved.status],
    "customers": [customer.name for customer in list_customers.sync(client=house, q="choir")],
    "booked": booked.to_dict(),
    "refused": [taken.status_code, taken.parsed.error, missing.status_code, missing.parsed.details],
    "listed": len(list_bookings.sync(client=client)),
}))
`;

let service: RunningService;
let folder: string;

beforeAll(async () => {
  service = await runService();
  folder = await mkdtemp(join(tmpdir(), 'venue-python-'));
  await service.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

test.skipIf(lacks(GENERATOR))(
  'openapi-python-client generates a client without a warning, which books and reads refusals',
  async () => {
    const document = ['--path', here('../../docs/openapi.json')];
    const output = ['--meta', 'none', '--output-path', join(folder, 'venue')];
    const env = envInVenv(GENERATOR);
    const generated = await run('openapi-python-client', ['generate', ...document, ...output, '--fail-on-warning'], {
      env,
    });
    expect(`${generated.stdout}${generated.stderr}`).not.toMatch(/warning|error|skipping/i);

    const community = await service.community();
    const spaceId = await service.space(community);
    const { key } = await service.brand();
    const { port } = service.app.server.address() as AddressInfo;
    const args = ['-c', SCRIPT, `http://127.0.0.1:${port}/api/v1`, key, String(spaceId), community.key];
    const { stdout } = await run('python', args, { env, cwd: folder });
    expect(JSON.parse(stdout)).toEqual({
      asked: '2026-12-11',
      ...MOVED_AND_ADDED,
      booked: expect.objectContaining({ status: 'Pending', startHour: 9 }),
      refused: [422, 'SlotUnavailable', 404, 'There is no booking 4711.'],
      listed: 1,
    });
  },
);

/** The days on which the clocks change, the hour that each shows twice or skips, and the offsets before and after. */
const CLOCK_CHANGES = [
  { zone: 'Europe/Berlin', spring: '2027-03-28', autumn: '2027-10-31', winter: '+01:00', summer: '+02:00' },
  { zone: 'America/New_York', spring: '2027-03-14', autumn: '2027-11-07', winter: '-05:00', summer: '-04:00' },
] as const;

test.skipIf(lacks(CALENDAR)).each(CLOCK_CHANGES)(
  'icalendar and zoneinfo read a calendar feed right across both clock changes of $zone',
  async ({ zone, spring, autumn, winter, summer }) => {
    const { commands, users } = service.core;
    const community = await service.community(
      zone,
      'Häfen; “Ost”, 🎪 \\ und eine lange Zeile, die umbrochen werden muss',
    );
    const brand = await service.brand('Acme, Ltd.');
    const name = 'Häfen; “Ost”, 🎪 \\ und eine lange Zeile, die umbrochen werden muss';
    const spaceId = await service.space(community, { name, windowStart: 0, windowEnd: 23, durationHours: 4 });
    for (const date of [spring, autumn]) {
      const body = { spaceId, startTime: date, startHour: 0 };
      expect((await service.post('/bookings', { key: brand.key, body })).statusCode).toBe(201);
      const day = { communityId: community.id, from: date, to: date };
      const whole = { ...day, kind: 'Closure', start: 0, until: 24, title: 'Clock;\\, change' } as const;
      accepted(await commands.closures.add(whole, CONTEXT));
    }
    const user = { email: `${crypto.randomUUID()}@example.com`, password: 'correct horse battery' };
    const { id: userId } = accepted(await users.add({ ...user, accounts: [community.account] }, BY_OPERATOR));
    const feed = { userId, account: community.account, showsNames: true };
    const { secret } = accepted(await commands.calendarFeeds.add(feed, CONTEXT));
    const { port } = service.app.server.address() as AddressInfo;
    const args = [here('calendar_feed.py'), `http://127.0.0.1:${port}/calendar/${secret}.ics`, zone];
    const { stdout } = await run('python', args, { env: envInVenv(CALENDAR) });
    const next = (date: string) => `${date.slice(0, 8)}${String(Number(date.slice(8)) + 1).padStart(2, '0')}`;
    const dayAfterAutumn = zone === 'Europe/Berlin' ? '2027-11-01' : next(autumn);
    const closed = 'Closed: Clock;\\, change';
    const request = `Request: Acme, Ltd., ${name}`;
    expect(JSON.parse(stdout)).toEqual([
      [closed, spring, next(spring), null],
      [closed, autumn, dayAfterAutumn, null],
      [request, `${spring}T00:00:00${winter}`, `${spring}T05:00:00${summer}`, 4],
      [request, `${autumn}T00:00:00${summer}`, `${autumn}T03:00:00${winter}`, 4],
    ]);
  },
);

describe('with the libraries of OAuth and MCP', () => {
  let clients: ServiceForClients;
  beforeAll(async () => {
    clients = await serviceForClients();
  });
  afterAll(() => clients.stop());

  test.skipIf(lacks(OAUTH))('requests-oauthlib signs in, refreshes and calls every operation', async () => {
    const done = await clients.runClient('python', [here('oauth_client.py')], { env: envInVenv(OAUTH) });
    expect(done).toEqual({ refreshed: 1, statuses: ALL_CALLED, ...MOVED_AND_ADDED });
  });

  test.skipIf(lacks(MCP))(
    'FastMCP signs in, refreshes and calls every tool as the strict mode of openai-agents converts it',
    async () => {
      const done = await clients.runClient('python', [here('mcp_client.py')], { env: envInVenv(MCP) });
      expect(done).toEqual({
        refreshed: true,
        called: [
          ...['who_am_i', 'find_spaces', 'check_availability', 'find_open_days', 'list_bookings', 'request_booking'],
          ...['move_booking', 'end_move', 'cancel_booking', 'booking_history', 'list_reviews'],
        ],
        cancelled: 'Cancelled',
      });
    },
  );
});
