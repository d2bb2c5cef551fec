import { hash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Caller } from '../../src/auth/caller.ts';
import { SpaceListing } from '../../src/contract/schemas/space.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { createTools } from '../../src/mcp/tools.ts';
import { openFailedEvents } from '../../src/outbox/failed-events.ts';
import { MARKS } from '../../src/outbox/marks.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { jpeg } from '../photos/pictures.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

const SPACE = 'id name windowStart windowEnd durationHours answerHours communityId timeZone active eventFee';
const PHOTO = 'photo width height alt?';
const COMMUNITY = 'id name timeZone newBrands?';
const ISSUED_KEY = 'id account.kind account.id permissions label';
const CLIENT = 'clientId name account createdAt';
const USER = 'id email accounts.kind accounts.id accounts.role createdAt passwordChangedAt emailConfirmedAt?';
const BOOKING = [
  'id spaceId spaceName date startHour endHour status totalPrice createdAt usageHours? brandName guests? message?',
  'hours communityId brandId cancelledBy? reason?',
].join(' ');
const ACTOR = 'actor.kind actor.id? actor.name? actor.account.kind? actor.account.id?';
const ENTRY = `bookingId revision event at ${ACTOR} changes.*`;
const DELIVERY = [
  'deliveryId webhookId account eventId event body state due tries',
  'attempts.at? attempts.url? attempts.error.type? attempts.error.message? attempts.status? attempts.address?',
  'attempts.duration? attempts.answer? attempts.previousSecret? eventAt createdAt expiresAt reason?',
].join(' ');
const MAIL = 'id kind userId to account state tries due createdAt notAfter reason? answer';
const PAYMENT =
  'kind at localTime timeZone bookingId communityId communityName spaceId spaceName date startHour endHour amount currency eventId';

const within = (name: string, fields: string): string => fields.replaceAll(/\S+/g, `${name}.$&`);

/** The fields that each command prints with `--json`, in order, or that it only confirms what it did. */
const PRINTS: { readonly [command: string]: string } = {
  'community add': COMMUNITY,
  'community change': COMMUNITY,
  'community contact': 'id contact?',
  'community describe': 'id name address.* coordinates.* website about directions contact',
  'community list': COMMUNITY,
  'community photo add': PHOTO,
  'community photo list': PHOTO,
  'community photo remove': PHOTO,
  'space add': SPACE,
  'space change': SPACE,
  'space hours': [
    'id name windowStart windowEnd durationHours eventFee gapHours noticeHours cancelHours horizonDays',
    'week.weekday week.open week.windowStart? week.windowEnd? week.eventFee?',
    'special.date special.windowStart special.windowEnd special.eventFee?',
  ].join(' '),
  'space duplicate': SPACE,
  'space describe': 'id name kind seated standing area amenities ownAmenities languages about houseRules access',
  'space publish': 'id published',
  'space photo add': PHOTO,
  'space photo list': PHOTO,
  'space photo remove': PHOTO,
  'space close': SPACE,
  'space open': SPACE,
  'space list': SPACE,
  'closure add': 'closureId days skipped.spaceId skipped.date skipped.reason bookings',
  'closure list': 'id kind from to weekdays? hours spaceIds title? closedDays leftOut.spaceId? leftOut.date? state',
  'closure change': 'closureId days skipped.spaceId? skipped.date? skipped.reason? bookings',
  'closure leave-out': 'closureId hasEnded',
  'closure end': 'closureId days',
  'closure import': 'lines added? wouldAdd? addedBefore skipped.line skipped.reason',
  'community new-brands': COMMUNITY,
  'community let-in': 'community brand',
  'community turn-away': 'community brand cancelled',
  'brand add': 'id name',
  'brand suspend': 'id name suspendedAt? cancelledRequests?',
  'brand reinstate': 'id name suspendedAt?',
  'brand contact': 'id contact?',
  'brand list': 'id name suspendedAt?',
  'api-key issue': `${ISSUED_KEY} key`,
  'api-key list': `${ISSUED_KEY} preview issuedAt revokedAt?`,
  'api-key revoke': 'confirmation',
  'feed list': 'id account.kind account.id userId spaceId? showsNames preview addedAt',
  'feed revoke': 'confirmation',
  'user add': USER,
  'user join': USER,
  'user leave': USER,
  'user list': USER,
  'user password': USER,
  'user invite': 'id account.kind account.id email role expiresAt url?',
  'user invitations': 'id account.kind account.id email role createdAt expiresAt',
  'user withdraw': 'confirmation',
  'user reset-link': 'id url until',
  'user remove': 'confirmation',
  'user role': USER,
  'client add': 'clientId clientSecret name account createdAt',
  'client list': CLIENT,
  'client remove': 'confirmation',
  'secret-key rotate': 'confirmation',
  'signing-key rotate': 'kid signsFrom',
  'signing-key list': 'kid publicJwk.kty publicJwk.n publicJwk.e publicJwk.kid publicJwk.use publicJwk.alg',
  'booking list': BOOKING,
  'booking show': BOOKING,
  'booking history': `${within('booking', BOOKING)} ${within('events', ENTRY)}`,
  day: `spaceId date ${within('bookings', BOOKING)} ${within('events', ENTRY)}`,
  audit: `id at event topic of.kind of.id of.name? ${ACTOR} changes.* stream revision`,
  'booking approve': BOOKING,
  'booking cancel': BOOKING,
  'review post': 'id bookingId propertyId spaceId rating title content',
  'webhook list':
    'id account.kind account.id credential url events status disabledReason? pausedSince? nextAttemptAt? createdAt',
  'webhook deliveries': DELIVERY,
  'webhook delivery': DELIVERY,
  'webhook resend': DELIVERY,
  'webhook recover': 'confirmation',
  'webhook test': DELIVERY,
  'webhook enable': 'confirmation',
  'webhook disable': 'confirmation',
  'webhook remove': 'confirmation',
  'webhook rotate': 'id signingSecret previousUntil',
  'clock check': 'confirmation',
  data: 'subject name? copiedAt events.* records.*',
  forget: 'subject forgottenAt',
  'mail list': MAIL,
  'mail resend': MAIL,
  'mail test': 'sent answer',
  'parked list': 'id into type stream revision state failures reason failingSince due',
  'parked replay': 'confirmation',
  'read-model list': 'name version state events failure.*? skipped.*?',
  'read-model skip': 'confirmation',
  charges: [
    'brand.id brand.name month by isOver',
    within('payments', PAYMENT),
    'totals.currency totals.charged totals.refunded totals.net',
  ].join(' '),
  report: [
    'account.kind account.id account.name from to money.month money.currency money.amount money.yearBefore',
    'occupancy.month occupancy.spaceId occupancy.spaceName occupancy.openHours occupancy.bookedHours',
    'occupancy.percent occupancy.percentMonthBefore occupancy.percentYearBefore',
  ].join(' '),
  backup: 'confirmation',
  restore: 'confirmation',
  export: 'confirmation',
  import: 'confirmation',
  unfence: 'confirmation',
  status: [
    'eventsBehind behindSince? parkedEvents retryingEvents openBreakers oldestDelivery oldestMail lastBackup lastSeal',
    'processes.process processes.hostname processes.pid processes.kind processes.release processes.roles processes.active',
  ].join(' '),
  rebuild: 'confirmation',
  verify:
    'position events documents differences.projection differences.key differences.expected.*? differences.actual.*? notVerified',
  seal: 'size checkpoint',
  'seal-key': 'origin key forks',
  proof: 'checkpoint events.index events.event events.proof',
};

const DAY_MS = 24 * 3_600_000;

/** A field that no shape lists. */
const UNLISTED = 'unlistedField';

describe('the JSON output of the command line', () => {
  let service: RunningService;
  /** The arguments of each command that prints fields, in a working order. */
  let calls: readonly (readonly string[])[];

  beforeAll(async () => {
    service = await runService({ MAIL_INBOX: 'true' });
    const { core, time } = service;
    const { bookings, webhooks } = core.commands;
    // The command line goes by the real clock. A review needs a booking of the past.
    time.now = Date.now() - 10 * DAY_MS;
    const community = await service.community();
    const brand = await service.brand();
    const spaceId = await service.space(community);
    const request = async (days: number) => {
      const details = { spaceId, date: inDays(days), startHour: 10 };
      // Events are stored as they are, with their actor.
      const account = { ...brand.account, [UNLISTED]: 'stored' };
      const actor = { kind: 'apiKey', id: 'key_1', account, [UNLISTED]: 'stored' } as const;
      return accepted(await bookings.request({ brandId: brand.id, details }, { ...CONTEXT, actor })).bookingId;
    };
    const completed = await request(-5);
    accepted(await bookings.approve({ bookingId: completed, communityId: community.id }, CONTEXT));
    time.now = Date.now();
    accepted(await bookings.complete(completed, CONTEXT));

    const pending = await request(30);
    const [requested] = await Array.fromAsync(core.events.readAll({ types: ['BookingRequested'], limit: 1 }));
    if (requested === undefined) throw new Error('No booking was requested');
    const { failed } = await openFailedEvents({
      documents: core.documents,
      clock: core.clock,
      role: 'webhooks',
      delaysMs: [],
    });
    await failed(requested, new Error('Broken'));

    const key = { account: brand.account, permissions: ALL_PERMISSIONS, label: 'Webhooks' };
    const { apiKeyId } = accepted(await core.commands.apiKeys.issue(key, CONTEXT));
    const owner = { credential: `apiKey:${apiKeyId}`, account: brand.account } as const;
    const register = async (url: string) =>
      accepted(await webhooks.register({ owner, url, events: 15 }, CONTEXT)).webhookId;
    const disabled = await register('https://example.com/');
    accepted(await webhooks.disable({ webhookId: disabled, reason: 'Asked for by phone' }, CONTEXT));
    // No server listens on port 1, so the attempt ends with an error.
    const webhookId = await register('http://127.0.0.1:1/');
    const { deliveryId } = await failedTest(service, webhookId);

    const password = 'ten or more';
    const ada = accepted(
      await core.users.add({ email: 'ada@example.com', password, accounts: [brand.account] }, BY_OPERATOR),
    );
    const feed = { userId: ada.id, account: brand.account, showsNames: true };
    accepted(await core.commands.calendarFeeds.add(feed, CONTEXT));
    const day = { from: inDays(60), to: inDays(60), start: 9, until: 12 };
    const wanted = { communityId: community.id, kind: 'Closure', ...day } as const;
    const { closureId } = accepted(await core.commands.closures.add(wanted, CONTEXT));
    const twoDays = { ...wanted, from: inDays(80), to: inDays(81) };
    const { closureId: changed } = accepted(await core.commands.closures.add(twoDays, CONTEXT));
    const file = join(service.config.dataDir, 'events.csv');
    const [photo, other] = ['#135', '#531'].map((colour) => join(service.config.dataDir, `${colour.slice(1)}.jpg`));
    await writeFile(photo ?? '', await jpeg('#135'));
    await writeFile(other ?? '', await jpeg('#531'));
    await writeFile(file, `date,start,end,space\n${inDays(70)},9,12,${spaceId}\n2026-02-30,9,12,${spaceId}\n`);
    await core.authorizationServer.signingKeys.rotate();
    const mail = { kind: 'BookingRequested', cause: requested.id, userId: ada.id } as const;
    await core.mail.enqueue({ ...mail, account: 'Brand:1', about: {}, at: toTimestamp(Date.now()) });
    const mailId = `BookingRequested:${requested.id}:${ada.id}`;
    addEverywhere(service.config.dataDir);

    const byEmail = ['--email', 'ada@example.com'];
    // Added by one of the commands.
    const juniper = String(brand.id + 1);
    const harbour = ['--community', String(community.id)];
    const terms = ['--name', 'Attic', '--window', '9-22', '--duration', '4', '--fee', '200.00'];
    calls = [
      ['verify'],
      ['read-model', 'list'],
      ['seal'],
      ['seal-key'],
      ['proof', String(completed)],
      ['community', 'add', '--name', 'Union Yard', '--time-zone', 'America/New_York'],
      ['community', 'contact', String(harbour[1]), '--email', 'office@example.com'],
      [
        ...['community', 'describe', harbour[1] ?? '', '--street', 'Kaistraße 7', '--postal-code', '20457'],
        ...[
          '--city',
          'Hamburg',
          '--country',
          'DE',
          '--coordinates',
          '53.5436,9.9888',
          '--website',
          'https://a.example',
        ],
        ...['--about', 'A house', '--directions', 'Left', '--contact', 'Mara'],
      ],
      ['community', 'list'],
      ['space', 'add', ...harbour, ...terms],
      ['space', 'change', String(spaceId), '--name', 'Greater Hall'],
      ['space', 'hours', String(spaceId), '--week', 'mo 9-21 600.00', '--special', `${inDays(9)}=10-14`, '--gap', '1'],
      [
        ...[
          'space',
          'describe',
          String(spaceId),
          '--kind',
          'hall',
          '--seated',
          '60',
          '--standing',
          '90',
          '--area',
          '70',
        ],
        ...['--amenities', 'lift,wifi', '--own-amenities', 'Piano;Skylight', '--languages', 'en,de'],
        ...['--about', 'Bright', '--house-rules', 'Quiet', '--access', 'Left'],
      ],
      ...[['space', spaceId] as const, ['community', community.id] as const].flatMap(([owner, id]) => [
        [owner, 'photo', 'add', String(id), photo ?? '', '--alt', 'The bar'],
        [owner, 'photo', 'add', String(id), other ?? ''],
        [owner, 'photo', 'list', String(id)],
        [owner, 'photo', 'remove', String(id), hash('sha256', readFileSync(other ?? ''), 'hex').slice(0, 12)],
      ]),
      ['space', 'publish', String(spaceId)],
      ['space', 'duplicate', String(spaceId), '--name', 'Small Hall'],
      ['space', 'close', String(spaceId)],
      ['space', 'open', String(spaceId)],
      ['space', 'list'],
      [
        ...['closure', 'add', ...harbour, '--space', String(spaceId), '--from', inDays(29), '--to', inDays(31)],
        ...['--hours', '9-12', '--own-event', '--title', 'Choir'],
      ],
      ['closure', 'list', ...harbour],
      ['closure', 'leave-out', changed, '--date', inDays(81)],
      ['closure', 'change', changed, '--title', 'Floor'],
      ['closure', 'end', closureId],
      ['closure', 'import', ...harbour, file],
      ['community', 'change', harbour[1] ?? '', '--name', 'Harbour Lofts West'],
      ['brand', 'add', '--name', 'Juniper'],
      ['brand', 'contact', String(brand.id), '--email', 'planner@example.com'],
      ['brand', 'suspend', juniper, '--cancel-requests'],
      ['brand', 'list'],
      ['brand', 'reinstate', juniper],
      ['community', 'new-brands', String(community.id), 'wait'],
      ['community', 'turn-away', String(community.id), '--brand', juniper],
      ['community', 'let-in', String(community.id), '--brand', juniper],
      ['community', 'new-brands', String(community.id), 'ask-nothing'],
      ['api-key', 'issue', ...harbour],
      ['api-key', 'list'],
      ['feed', 'list'],
      ['user', 'add', ...harbour, '--email', 'grace@example.com'],
      ['user', 'join', ...harbour, ...byEmail],
      ['user', 'role', ...harbour, ...byEmail, '--role', 'viewer'],
      ['user', 'leave', ...harbour, ...byEmail],
      ['user', 'password', ...byEmail],
      ['user', 'invite', ...harbour, '--email', 'invited@example.com', '--role', 'viewer'],
      ['user', 'invitations'],
      ['user', 'reset-link', ...byEmail],
      ['user', 'list'],
      ['client', 'add', ...harbour],
      ['client', 'list'],
      ['signing-key', 'rotate'],
      ['signing-key', 'list'],
      ['booking', 'list', ...harbour],
      ['booking', 'show', String(pending)],
      ['booking', 'approve', String(pending)],
      ['booking', 'cancel', String(pending), '--by', 'brand', '--reason', 'Our date moved.'],
      ['booking', 'history', String(pending)],
      ['day', String(spaceId), inDays(30)],
      ['audit', ...harbour],
      ['charges', '--brand', String(brand.id), '--month', new Date().toISOString().slice(0, 7)],
      ['report', ...harbour, '--from', '2026-12', '--to', '2026-12'],
      ['review', 'post', String(completed), '--rating', '5', '--title', 'Quiet', '--content', 'And bright.'],
      ['webhook', 'list'],
      ['webhook', 'deliveries', webhookId],
      ['webhook', 'delivery', deliveryId],
      ['webhook', 'resend', deliveryId],
      ['webhook', 'test', webhookId],
      ['webhook', 'rotate', webhookId],
      ['mail', 'list'],
      ['mail', 'resend', mailId],
      ['mail', 'test', 'ada@example.com'],
      ['parked', 'list'],
      ['status'],
      ['data', '--brand', String(brand.id)],
      ['forget', '--brand', String(brand.id)],
    ];
  });
  afterAll(() => service.stop());

  test('is listed in the table for every command', async () => {
    const under = async (...group: readonly string[]): Promise<readonly string[]> => {
      const within = await commandsIn(...group, '--help');
      if (within.length === 0) return [group.join(' ')];
      return (await Promise.all(within.map((name) => under(...group, name)))).flat();
    };
    const commands = await under();
    expect(commands.toSorted()).toEqual(Object.keys(PRINTS).toSorted());
  });

  test('has exactly the fields of the table, in order', async () => {
    useDataDir(service.config.dataDir);
    const stdin = vi.spyOn(process, 'stdin', 'get');
    stdin.mockImplementation(() => Readable.from(['a new password']) as typeof process.stdin);
    onTestFinished(() => stdin.mockRestore());
    const seen = new Set<string>();
    for (const call of calls) {
      const command = [1, 2, 3].map((words) => call.slice(0, words).join(' ')).find((each) => each in PRINTS) ?? '';
      const fields = PRINTS[command];
      if (fields === undefined || fields === 'confirmation') throw new Error(`${command} only confirms what it did`);
      // Stored documents differ from the log, because they have the unlisted field; they are shown whole.
      const printed = command === 'verify' ? await verification() : await json(...call);
      const entries = Array.isArray(printed) ? printed : [printed];
      expect(entries, command).not.toEqual([]);
      for (const entry of entries) expectFields(fields, entry, command);
      // These commands exist to show stored data.
      if (!['verify', 'proof', 'data'].includes(command))
        expect(JSON.stringify(printed), command).not.toContain(UNLISTED);
      seen.add(command);
    }
    const shown = Object.keys(PRINTS).filter((command) => PRINTS[command] !== 'confirmation');
    expect([...seen].toSorted()).toEqual(shown.toSorted());
  });

  test('adds no stored fields to the spaces that MCP lists', async () => {
    const { spaces } = await findSpaces(service);
    expect(spaces).not.toEqual([]);
    const required: readonly string[] = SpaceListing.required;
    const fields = Object.keys(SpaceListing.properties).map((name) =>
      required.includes(name) ? name : name === 'house' ? 'house.*?' : `${name}?`,
    );
    for (const space of spaces) expectFields(fields.join(' '), space, 'find_spaces');
  });
});

/** The printed fields must be those of the list, in its order; all but those marked with `?` must be there. */
function expectFields(list: string, printed: unknown, where: string): void {
  const listed = list.split(' ').map((field) => field.replace('?', ''));
  const present = new Set(fieldsIn(printed, '', listed));
  expect([...present], where).toEqual(listed.filter((field) => present.has(field)));
  for (const field of list.split(' ')) if (!field.endsWith('?')) expect(present, where).toContain(field);
}

/** The paths of all fields. What is in a field that the list ends with `*` may have any names. */
function fieldsIn(value: unknown, path: string, listed: readonly string[]): string[] {
  if (listed.includes(`${path}.*`)) return [`${path}.*`];
  if (Array.isArray(value) && !listed.includes(path)) return value.flatMap((item) => fieldsIn(item, path, listed));
  if (Array.isArray(value) || typeof value !== 'object' || value === null) return [path];
  const prefix = path === '' ? '' : `${path}.`;
  return Object.entries(value).flatMap(([field, each]) => fieldsIn(each, `${prefix}${field}`, listed));
}

/** Sends a test delivery and waits until it has failed. */
async function failedTest({ core: { webhooks } }: RunningService, webhookId: string) {
  await webhooks.start();
  const { deliveryId } = accepted(await webhooks.sendTest(webhookId));
  const failed = await eventually(async () => {
    const delivery = await webhooks.getDelivery(deliveryId);
    expect(delivery).toMatchObject({ state: 'Failed', attempts: [{ error: { type: 'Refused' } }] });
    return { deliveryId };
  });
  await webhooks.stop();
  return failed;
}

/** Adds an unlisted field to every object of every stored document. Marks are left as they are: their fields are kinds of events. */
function addEverywhere(dataDir: string): void {
  // A generation of read models has a file of its own.
  const generations = globSync('read-models/*.sqlite', { cwd: dataDir });
  for (const file of ['read-models.sqlite', 'records.sqlite', ...generations]) {
    const database = new DatabaseSync(join(dataDir, file), { timeout: 10_000 });
    const tables = database.prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%document TEXT%'`,
    );
    for (const { name } of tables.all().filter((table) => table.name !== MARKS.name)) {
      const rows = database.prepare(`SELECT key, document FROM "${name}" WHERE document IS NOT NULL`).all();
      const update = database.prepare(`UPDATE "${name}" SET document = ? WHERE key = ?`);
      for (const { key, document } of rows)
        update.run(JSON.stringify(withUnlisted(JSON.parse(String(document)))), String(key));
    }
    database.close();
  }
}

function withUnlisted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withUnlisted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([field, each]) => [field, withUnlisted(each)]);
  return { ...Object.fromEntries(fields), [UNLISTED]: 'stored' };
}

/** The output of `verify` when documents differ, which makes it fail. */
async function verification(): Promise<unknown> {
  const { code, stdout } = await inProcess('verify', '--json');
  expect(code).toBe(1);
  return JSON.parse(stdout);
}

/** The commands that a help text lists. */
async function commandsIn(...args: readonly string[]): Promise<string[]> {
  const { stdout } = await inProcess(...args);
  const [, list = ''] = stdout.split('\nCommands:\n');
  return [...(list.split('\n\n')[0] ?? '').matchAll(/^ {2}(?!help )([a-z-]+)/gm)].map(([, name = '']) => name);
}

/** What the tool `find_spaces` returns to a brand. */
async function findSpaces({ core }: RunningService): Promise<{ readonly spaces: readonly unknown[] }> {
  const { commands, queries, clock, config } = core;
  let call: ((input: object) => Promise<CallToolResult>) | undefined;
  const server = {
    registerTool(name: string, _: unknown, handler: typeof call) {
      if (name === 'find_spaces') call = handler;
    },
  } as unknown as McpServer;
  const account = { kind: 'Brand', id: 1 } as Caller['account'];
  const caller: Caller = { account, permissions: ALL_PERMISSIONS, credential: { kind: 'client', id: 'test' } };
  for (const tool of createTools({ commands, queries, clock, pricing: config }))
    tool.register(server, {
      caller,
      correlationId: 'test',
      trace: { traceId: '0' },
      answerBy: performance.now() + 10_000,
      isDisconnected: () => false,
    });
  const result = await call?.({});
  return JSON.parse(JSON.stringify(result?.structuredContent));
}
