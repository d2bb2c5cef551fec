import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reportEngine } from '../engines.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';
import { ALL_CALLED, type ServiceForClients, serviceForClients } from './signed-in.ts';

const run = promisify(execFile);
const here = (path: string) => new URL(path, import.meta.url).pathname;

/** Made by .ci/run, or by hand: see below. */
const BIN = here('../../.venv/bin');
const env = { ...process.env, PATH: [BIN, process.env.PATH].join(delimiter), PYTHONDONTWRITEBYTECODE: '1' };
const hasGenerator = spawnSync(join(BIN, 'openapi-python-client'), ['--version']).status === 0;

reportEngine(
  'client',
  'Python',
  hasGenerator
    ? 'openapi-python-client in .venv'
    : 'NOT TESTED: no .venv/bin/openapi-python-client (python3 -m venv .venv && .venv/bin/pip install -r test/clients/requirements.txt)',
);

/** Sample code of an integrator that uses the generated package. */
const SCRIPT = `
import datetime, json, sys
from venue import AuthenticatedClient
from venue.api.bookings import create_booking, get_booking_history, list_bookings
from venue.api.spaces import get_availability
from venue.models import BookingDto, CreateBooking, Error, ErrorCode

base_url, key, space = sys.argv[1], sys.argv[2], int(sys.argv[3])
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
print(json.dumps({
    "booked": booked.to_dict(),
    "refused": [taken.status_code, taken.parsed.error, missing.status_code, missing.parsed.details],
    "listed": len(list_bookings.sync(client=client)),
}))
`;

let service: RunningService;
let folder: string;

/** Says which packages of a program are there. @returns whether all are */
function hasPackages(what: string, ...names: readonly string[]): boolean {
  const script = `import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, ${JSON.stringify(names)})))`;
  const has = spawnSync(join(BIN, 'python'), ['-c', script], { env }).status === 0;
  reportEngine('client', what, has ? 'in .venv' : `NOT TESTED: no ${names.join(', ')} in .venv (see above)`);
  return has;
}
const hasOAuth = hasPackages('requests-oauthlib', 'requests_oauthlib');
const hasMcp = hasPackages('FastMCP and the strict mode of openai-agents', 'fastmcp', 'agents');

beforeAll(async () => {
  service = await runService();
  folder = await mkdtemp(join(tmpdir(), 'venue-python-'));
  await service.app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true });
});

test.skipIf(!hasGenerator)(
  'openapi-python-client generates a client without a warning, which books and reads refusals',
  async () => {
    const document = ['--path', here('../../docs/openapi.json')];
    const output = ['--meta', 'none', '--output-path', join(folder, 'venue')];
    const generated = await run('openapi-python-client', ['generate', ...document, ...output, '--fail-on-warning'], {
      env,
    });
    expect(`${generated.stdout}${generated.stderr}`).not.toMatch(/warning|error|skipping/i);

    const spaceId = await service.space(await service.community());
    const { key } = await service.brand();
    const { port } = service.app.server.address() as AddressInfo;
    const args = ['-c', SCRIPT, `http://127.0.0.1:${port}/api/v1`, key, String(spaceId)];
    const { stdout } = await run(join(BIN, 'python'), args, { env, cwd: folder });
    expect(JSON.parse(stdout)).toEqual({
      booked: expect.objectContaining({ status: 'Pending', startHour: 9 }),
      refused: [422, 'SlotUnavailable', 404, 'There is no booking 4711.'],
      listed: 1,
    });
  },
);

describe('with the libraries of OAuth and MCP', () => {
  let clients: ServiceForClients;
  beforeAll(async () => {
    clients = await serviceForClients();
  });
  afterAll(() => clients.stop());

  test.skipIf(!hasOAuth)('requests-oauthlib signs in, refreshes and calls every operation', async () => {
    const { refreshed, statuses } = await clients.runClient(join(BIN, 'python'), [here('oauth_client.py')], { env });
    expect([refreshed, statuses]).toEqual([1, ALL_CALLED]);
  });

  test.skipIf(!hasMcp)(
    'FastMCP signs in, refreshes and calls every tool as the strict mode of openai-agents converts it',
    async () => {
      const done = await clients.runClient(join(BIN, 'python'), [here('mcp_client.py')], { env });
      expect(done).toEqual({
        refreshed: true,
        called: [
          ...['who_am_i', 'find_spaces', 'check_availability', 'find_open_days', 'list_bookings', 'request_booking'],
          ...['cancel_booking', 'booking_history', 'list_reviews'],
        ],
        cancelled: 'Cancelled',
      });
    },
  );
});
