import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { DEFAULT_ANSWER_HOURS, LABEL, listOf } from '../../src/domain/limits.ts';
import { ALL_PERMISSIONS, Permission } from '../../src/domain/permissions.ts';
import { RELEASE } from '../../src/release.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { call } from '../service/client.ts';
import { startServiceProcess, temporaryDataDir, venueProcess } from '../service/service-process.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

/** Runs a command in a separate process and parses its JSON output. */
async function jsonOfProcess(dataDir: string, ...args: readonly string[]) {
  const { code, stdout, stderr } = await venueProcess(dataDir, ...args, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

describe('next to a running service', () => {
  test('its changes are visible in the service immediately', async () => {
    const dataDir = temporaryDataDir();
    const service = await startServiceProcess(dataDir, { DEMO: 'false' });
    useDataDir(dataDir);

    const community = await jsonOfProcess(dataDir, 'community', 'add', '--name', 'Mill', '--time-zone', 'Asia/Tokyo');
    const terms = ['--window', '9-22', '--duration', '2.5', '--fee', '420.10'];
    const space = await json('space', 'add', '--community', `${community.id}`, '--name', 'Loft', ...terms);
    expect(space).toMatchObject({ name: 'Loft', eventFee: 420.1, windowStart: 9, windowEnd: 22, active: true });
    const brand = await json('brand', 'add', '--name', 'Roastery');
    const { key, id: keyId } = await json('api-key', 'issue', '--brand', `${brand.id}`);

    const availability = `/spaces/${space.id}/availability?date=${inDays(3)}`;
    expect(await call(service, key, availability)).toMatchObject({ status: 200, body: { durationHours: 2.5 } });

    const request = { spaceId: space.id, startTime: inDays(3), startHour: 10 };
    const booked = await call(service, key, '/bookings', request);
    expect(booked).toMatchObject({ status: 201, body: { status: 'Pending', totalPrice: 483.12 } });

    const bookingId = `${booked.body.id}`;
    expect(await jsonOfProcess(dataDir, 'booking', 'approve', bookingId)).toMatchObject({ status: 'Approved' });
    expect((await call(service, key, '/bookings')).body).toMatchObject([{ status: 'Approved' }]);

    const reason = ['--reason', 'Water damage'];
    await json('booking', 'cancel', bookingId, '--by', 'community', ...reason);
    expect((await call(service, key, '/bookings')).body).toMatchObject([{ status: 'Cancelled' }]);
    const history = await json('booking', 'history', bookingId);
    expect(history.events.map(({ event }: { event: string }) => event)).toEqual([
      'BookingRequested',
      'BookingApproved',
      'BookingCancelled',
    ]);

    // endHour is a whole hour; what people read is the hour at which the space is free again.
    const day = await inProcess('day', `${space.id}`, inDays(3));
    const list = await inProcess('booking', 'list', '--brand', `${brand.id}`);
    const shown = await inProcess('booking', 'show', bookingId);
    for (const { stdout } of [day, list, shown]) expect(stdout).toContain('10:00–12:30');

    await json('space', 'close', `${space.id}`);
    expect(await call(service, key, '/bookings', request)).toMatchObject({
      status: 422,
      body: { error: 'BookingNotAllowed' },
    });

    await json('api-key', 'revoke', keyId);
    await eventually(async () =>
      expect(await call(service, key, '/bookings')).toMatchObject({ status: 401, body: { error: 'InvalidApiKey' } }),
    );
  });
});

describe('without a running service', () => {
  test('shows and changes the hours of a space', async () => {
    useDataDir(temporaryDataDir());
    await inProcess('community', 'add', '--name', 'Mill', '--time-zone', 'Asia/Tokyo');
    const terms = ['--name', 'Loft', '--window', '9-22', '--duration', '4', '--fee', '99'];
    await inProcess('space', 'add', '--community', '1', ...terms);
    const day = { weekday: 'Monday', open: true, windowStart: 9, windowEnd: 22 };
    const rules = { gapHours: 0, noticeHours: 0, cancelHours: 0, horizonDays: null };
    expect(await json('space', 'hours', '1')).toMatchObject({
      ...rules,
      week: [day, {}, {}, {}, {}, {}, {}],
      special: [],
    });

    const [special, none] = [inDays(20), inDays(21)];
    const week = ['--week', 'mo-fr 9-21, sa 10-18 600.00, su closed'];
    const set = ['--special', `${special}=10-14 50`, '--special', `${none}=11-12`];
    const all = ['--gap', '0.5', '--notice', '24', '--horizon', '90', '--cancel', '48'];
    const changed = await json('space', 'hours', '1', ...week, ...set, ...all);
    expect(changed).toMatchObject({ gapHours: 0.5, noticeHours: 24, horizonDays: 90, cancelHours: 48, eventFee: 99 });
    expect(changed.week.slice(4)).toEqual([
      { ...day, weekday: 'Friday', windowEnd: 21 },
      { weekday: 'Saturday', open: true, windowStart: 10, windowEnd: 18, eventFee: 600 },
      { weekday: 'Sunday', open: false },
    ]);
    expect(changed.special[0]).toEqual({ date: special, windowStart: 10, windowEnd: 14, eventFee: 50 });
    // The days that are left out keep theirs.
    const less = await json('space', 'hours', '1', '--week', 'Sunday 12-15', '--special', `${none}=none`);
    expect(less.week.slice(5)).toMatchObject([{ eventFee: 600 }, { windowStart: 12, windowEnd: 15 }]);
    expect(less.special).toHaveLength(1);
    expect((await inProcess('space', 'hours', '1')).stdout).toMatch(/Saturday +yes +10 +18 +600/);
    const [, event] = await json('audit', '--community', '1', '--kind', 'SpaceChanged');
    expect(event.changes.week.to).toContain('Sunday 12:00–15:00');

    for (const [option, value, said] of [
      ['--week', 'mo-fr 21-9', /21-9 must end after it begins/],
      ['--week', 'mo-xx 9-21', /“xx” is no weekday/],
      ['--week', 'mo-fr 9-21, we closed', /names Wednesday twice/],
      ['--week', 'fr-mo 9-21', /two weekdays in order/],
      ['--week', 'mo', /must have hours such as 9-21/],
      ['--week', 'mo 9-21 6.000', /at most two decimals/],
      ['--week', 'mo 9-24', /week Monday: windowEnd must be a whole number, 0 to 23/],
      ['--special', '24.12.2026=10-14', /YYYY-MM-DD/],
      ['--special', '2026-12-24', /such as 2026-12-24=10-14/],
      ['--special', '2020-12-24=10-14', /special 2020-12-24 is in the past/],
      ['--horizon', '2000', /horizonDays must be a whole number, 1 to 1825/],
    ] as const) {
      const { code, stderr } = await inProcess('space', 'hours', '1', option, value);
      expect(stderr, value).toMatch(said);
      expect(code, value).toBeGreaterThan(0);
    }
    expect((await inProcess('space', 'hours', '7')).stderr).toMatch(/no space 7/);
  });

  test('shows its earlier changes, in tables for people', async () => {
    useDataDir(temporaryDataDir());
    await inProcess('community', 'add', '--name', 'Mill', '--time-zone', 'Asia/Tokyo');
    const terms = ['--name', 'Loft', '--window', '9-22', '--duration', '4', '--fee', '99'];
    await inProcess('space', 'add', '--community', '1', ...terms);
    await inProcess('space', 'change', '1', '--fee', '100.5', '--name', 'Attic');

    const { code, stdout } = await inProcess('space', 'list');
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        'id  name   windowStart  windowEnd  durationHours  answerHours  communityId  timeZone    active  eventFee',
        ' 1  Attic            9         22              4           72            1  Asia/Tokyo  yes        100.5',
        '',
      ].join('\n'),
    );
    expect((await inProcess('brand', 'list')).stdout).toBe('None.\n');
  });

  test('refuses a list for an unknown account instead of printing an empty one', async () => {
    useDataDir(temporaryDataDir());
    for (const of of [
      ['booking', 'list', '--community', '7'],
      ['booking', 'list', '--brand', '7'],
      ['space', 'list', '--community', '7'],
      ['api-key', 'list', '--brand', '7'],
      ['client', 'list', '--brand', '7'],
      ['webhook', 'list', '--community', '7'],
    ])
      expect(await inProcess(...of), of.join(' ')).toEqual({
        code: 1,
        stdout: '',
        stderr: `ResourceNotFound: There is no ${of[2]?.slice(2)} 7.\n`,
      });
    for (const of of [['deliveries'], ['test'], ['recover', '--since', '2026-11-01'], ['disable']])
      expect(await inProcess('webhook', ...of, 'wh_x'), of[0]).toEqual({
        code: 1,
        stdout: '',
        stderr: 'ResourceNotFound: There is no webhook wh_x.\n',
      });
    await inProcess('brand', 'add', '--name', 'Mill');
    for (const list of ['booking', 'api-key', 'client', 'webhook'])
      expect(await inProcess(list, 'list', '--brand', '1'), list).toMatchObject({ code: 0, stdout: 'None.\n' });
  });

  test('finds a read model that differs from the log, and rebuilds it', async () => {
    const dataDir = temporaryDataDir();
    useDataDir(dataDir);
    await inProcess('brand', 'add', '--name', 'Mill');
    expect(await inProcess('verify')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^documents +2$/m),
    });

    const [generation = ''] = readdirSync(join(dataDir, 'read-models')).filter((name) => name.endsWith('.sqlite'));
    const readModels = new DatabaseSync(join(dataDir, 'read-models', generation));
    const changed = readModels.prepare(`UPDATE brands SET document = json_set(document, '$.name', 'X')`);
    expect(changed.run().changes).toBe(1);
    readModels.close();

    const verified = await inProcess('verify', '--json');
    expect(verified).toMatchObject({ code: 1, stderr: expect.stringContaining('Read models differ') });
    expect(JSON.parse(verified.stdout)).toMatchObject({
      differences: [{ projection: 'brands', key: '1', expected: { name: 'Mill' }, actual: { name: 'X' } }],
    });

    expect(await inProcess('rebuild', '--json')).toMatchObject({ code: 0, stderr: '' });
    expect(await inProcess('verify')).toMatchObject({ code: 0 });
    expect((await inProcess('brand', 'list')).stdout).toContain('Mill');
  });

  test('does not print control characters in stored text', async () => {
    useDataDir(temporaryDataDir());
    await inProcess('brand', 'add', '--name', 'Mill\u001b[31m\nRed');
    expect((await inProcess('brand', 'list')).stdout).toBe('id  name\n 1  Mill [31m Red\n');
  });
});

describe('errors', () => {
  const TERMS = ['--name', 'Loft', '--window', '9-22', '--duration', '4'];

  test.each([
    [['nope'], "unknown command 'nope'"],
    [['space', 'add'], '--community'],
    [['space', 'add', '--community', '1', ...TERMS, '--fee', '420.005'], 'at most two decimals'],
    [['space', 'add', '--community', '1', ...TERMS, '--fee', '-1'], '--fee'],
    [['space', 'change', '1'], 'nothing to change'],
    [['booking', 'approve', 'seven'], 'whole number'],
    [['booking', 'cancel', '7', '--by', 'system'], 'community, brand'],
    [['booking', 'list', '--community', '1', '--from', '2026-02-30'], 'YYYY-MM-DD'],
    [['booking', 'list', '--brand', '1', '--from', '2026-12-11', '--to', '2026-12-10'], 'must not be after'],
    [['api-key', 'issue'], 'either --community ID or --brand ID is required'],
    [['api-key', 'issue', '--brand', '1', '--community', '1'], 'either --community ID or --brand ID, not both'],
  ])('%j is a usage error with exit code 2 and one line', async (args, message) => {
    const plain = await inProcess(...args);
    expect(plain).toMatchObject({ code: 2, stdout: '' });
    expect(plain.stderr).toContain(message);
    expect(plain.stderr).toMatch(/^ValidationError: .+\n$/);
    const asJson = await inProcess(...args, '--json');
    expect(asJson).toMatchObject({ code: 2, stdout: '' });
    expect(JSON.parse(asJson.stderr)).toEqual({ error: 'ValidationError', details: expect.stringContaining(message) });
  });

  test('an argument that is longer than any field takes is a usage error', async () => {
    expect(await inProcess('booking', 'list', '--from', 'a'.repeat(10_001))).toEqual({
      code: 2,
      stdout: '',
      stderr: 'ValidationError: An argument must have at most 10000 characters.\n',
    });
  });

  test('a group without a command lists its commands and exits with 2', async () => {
    const plain = await inProcess('booking');
    expect(plain).toMatchObject({ code: 2, stdout: '' });
    expect(plain.stderr).toContain('approve');
    expect(JSON.parse((await inProcess('booking', '--json')).stderr)).toMatchObject({ error: 'ValidationError' });
  });

  test('a refusal by a rule is exit code 1 and one line', async () => {
    useDataDir(temporaryDataDir());
    const refused = [
      [['booking', 'approve', '7'], 'ResourceNotFound'],
      [['api-key', 'issue', '--brand', '9'], 'ResourceNotFound'],
      [['api-key', 'revoke', 'key_none'], 'ResourceNotFound'],
      [['webhook', 'enable', 'wh_none'], 'ResourceNotFound'],
      [['community', 'add', '--name', 'Mill', '--time-zone', 'Mars/Olympus'], 'ValidationError'],
      [['space', 'add', '--community', '9', ...TERMS, '--fee', '1'], 'ResourceNotFound'],
    ] as const;
    for (const [args, error] of refused) {
      const plain = await inProcess(...args);
      expect(plain).toMatchObject({ code: 1, stdout: '' });
      expect(plain.stderr).toMatch(new RegExp(`^${error}: .+\n$`));
      const asJson = await inProcess(...args, '--json');
      expect(asJson).toMatchObject({ code: 1, stdout: '' });
      expect(JSON.parse(asJson.stderr)).toEqual({ error, details: expect.any(String) });
    }
  });

  test('options have the lengths and ranges of the domain', async () => {
    useDataDir(temporaryDataDir());
    await json('community', 'add', '--name', 'Mill', '--time-zone', 'UTC');
    await json('brand', 'add', '--name', 'Acme');
    const space = await json('space', 'add', '--community', '1', ...TERMS, '--fee', '1');
    expect(space).toMatchObject({ answerHours: DEFAULT_ANSWER_HOURS });
    const refused = [
      [['client', 'add', '--brand', '1', '--name', ''], 'name must have 1 to 100 characters.'],
      [['client', 'add', '--brand', '1', '--name', 'x'.repeat(3_000)], 'name must have 1 to 100 characters.'],
      [
        ['api-key', 'issue', '--brand', '1', '--permissions', '64'],
        `permissions must be a sum of these values: ${listOf(Permission)}.`,
      ],
      [['space', 'change', '1', '--answer-hours', '0.5'], 'answerHours must be a whole number, 1 to 2160.'],
      [['space', 'change', '1', '--duration', '0.3'], 'durationHours must be 0.25 to 23, in steps of 0.25.'],
      [
        ['space', 'change', '1', '--fee', '100000000.01'],
        'eventFee must be 0 to 100,000,000.00, with at most two decimals.',
      ],
    ] as const;
    for (const [args, details] of refused) {
      const { code, stderr } = await inProcess(...args, '--json');
      expect({ code, ...JSON.parse(stderr) }).toEqual({ code: 1, error: 'ValidationError', details });
    }
  });

  test('the process exits with the same code', async () => {
    const dataDir = temporaryDataDir();
    const ended = await Promise.all([
      venueProcess(dataDir, 'nope'),
      venueProcess(dataDir, 'booking', 'approve', '7'),
      venueProcess('/dev/null/nowhere', 'brand', 'list'),
    ]);
    expect(ended.map(({ code }) => code)).toEqual([2, 1, 2]);
    expect(ended[2]?.stderr).toMatch(/^ValidationError: DATA_DIR: .+\n$/);
  });
});

/** The commands that a help page lists. */
function commandsIn(help: string): string[] {
  const [, listed = ''] = help.split('Commands:\n');
  const [section = ''] = listed.split('\n\n');
  return [...section.matchAll(/^ {2}([a-z-]+) /gm)].flatMap(([, name]) => (name && name !== 'help' ? [name] : []));
}

test('every command and every group of them has help with an example', async () => {
  const checked: string[] = [];
  const check = async (...path: readonly string[]): Promise<void> => {
    const { code, stdout } = await inProcess(...path, '--help');
    expect(code).toBe(0);
    expect(stdout).toContain('--json');
    const commands = commandsIn(stdout);
    const example = new RegExp(`Examples?:\n +(?:npx )?venue ${path.join(' ')}`);
    expect(stdout, path.join(' ')).toMatch(example);
    if (commands.length === 0) checked.push(path.join(' '));
    for (const command of commands) await check(...path, command);
  };
  await check();
  expect(checked).toEqual(expect.arrayContaining(['space add', 'booking approve', 'rebuild', 'parked replay']));
});

test.each([
  ['key', 'api-key', ['issue', 'list', 'revoke']],
  ['keys', 'signing-key', ['list', 'rotate']],
])('%s is still an unlisted alias of %s', async (oldName, newName, commands) => {
  const listed = commandsIn((await inProcess('--help')).stdout);
  expect(listed).toContain(newName);
  expect(listed).not.toContain(oldName);
  expect(commandsIn((await inProcess(oldName, '--help')).stdout).toSorted()).toEqual(commands);

  useDataDir(temporaryDataDir());
  const expected = await json(newName, 'list');
  expect(await json(oldName, 'list')).toEqual(expected);
});

test('--version prints the release, as /healthz does', async () => {
  for (const flag of ['--version', '-V'])
    expect(await inProcess(flag)).toEqual({ code: 0, stdout: `${RELEASE}\n`, stderr: '' });
  expect(await inProcess('--version', '--json')).toEqual({ code: 0, stdout: `${RELEASE}\n`, stderr: '' });
  expect((await inProcess('--help')).stdout).toMatch(/-V, --version +/);
});

describe('issuing an API key', () => {
  const issue = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await inProcess('api-key', 'issue', ...args, '--json');
    return code === 0 ? JSON.parse(stdout) : { code, ...JSON.parse(stderr) };
  };

  test('accepts the permissions listed in its help for either kind of account', async () => {
    useDataDir(temporaryDataDir());
    await json('community', 'add', '--name', 'Mill', '--time-zone', 'UTC');
    await json('brand', 'add', '--name', 'Acme');
    const help = (await inProcess('api-key', 'issue', '--help')).stdout.replaceAll(/\s+/g, ' ');
    expect(help).toContain('Exactly one of --community and --brand is required.');
    expect(help).toContain(`default: ${ALL_PERMISSIONS}, all of them`);
    expect(help).toContain(`Permission flags: ${listOf(Permission)}.`);
    expect(help).toContain(
      'The key of a community may have WriteBookings, too: it moves bookings with it, but cannot request any (ScopeViolation).',
    );
    expect(help).toContain(`${LABEL.min} to ${LABEL.max} characters`);
    for (const account of [
      ['--brand', '1'],
      ['--community', '1'],
    ]) {
      expect(await issue(...account)).toMatchObject({ permissions: ALL_PERMISSIONS });
      for (const [name, value] of Object.entries(Permission)) {
        expect(help).toContain(`${value} ${name}`);
        expect(await issue(...account, '--permissions', `${value}`)).toMatchObject({ permissions: value });
        expect(await issue(...account, '--permissions', name)).toMatchObject({ permissions: value });
      }
      const both = 'ReadAvailability,ReadBookings';
      expect(help).toContain(both);
      expect(await issue(...account, '--permissions', both)).toMatchObject({ permissions: 3 });
      expect(await issue(...account, '--permissions', `${both},ReadBookings`)).toMatchObject({ permissions: 3 });
    }
  });

  test.each(['ReadEverything', 'ReadBookings,', '1e1', '-1', '', 'readbookings'])(
    'permissions %j are a usage error that names the flags',
    async (permissions) => {
      const refused = await issue('--brand', '1', `--permissions=${permissions}`);
      expect(refused).toMatchObject({ code: 2, error: 'ValidationError' });
      expect(refused.details).toContain(listOf(Permission));
    },
  );
});
