import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { IsObject, type TSchema } from 'typebox';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Caller } from '../../src/auth/caller.ts';
import { OPERATOR_SHAPES } from '../../src/contract/public-shapes.ts';
import { SpaceListing } from '../../src/contract/space.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { createTools } from '../../src/mcp/tools.ts';
import { openFailedEvents } from '../../src/webhooks/failed-events.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

/** What each command prints for machines: a shape, or only what became of the command. */
const PRINTS: { readonly [command: string]: keyof typeof OPERATOR_SHAPES | 'acknowledgement' } = {
  'community add': 'OperatorCommunity',
  'community list': 'OperatorCommunity',
  'space add': 'OperatorSpace',
  'space change': 'OperatorSpace',
  'space close': 'OperatorSpace',
  'space open': 'OperatorSpace',
  'space list': 'OperatorSpace',
  'brand add': 'OperatorBrand',
  'brand list': 'OperatorBrand',
  'api-key issue': 'OperatorIssuedApiKey',
  'api-key list': 'OperatorApiKey',
  'api-key revoke': 'acknowledgement',
  'user add': 'OperatorUser',
  'user join': 'OperatorUser',
  'user leave': 'OperatorUser',
  'user list': 'OperatorUser',
  'user password': 'OperatorUser',
  'user remove': 'acknowledgement',
  'client add': 'OperatorAddedClient',
  'client list': 'OperatorClient',
  'client remove': 'acknowledgement',
  'secret-key rotate': 'acknowledgement',
  'signing-key rotate': 'OperatorCreatedSigningKey',
  'signing-key list': 'OperatorSigningKey',
  'booking list': 'OperatorBooking',
  'booking show': 'OperatorBooking',
  'booking history': 'OperatorBookingHistory',
  day: 'OperatorDayHistory',
  audit: 'OperatorAccountChange',
  'booking approve': 'OperatorBooking',
  'booking cancel': 'OperatorBooking',
  'review post': 'OperatorReview',
  'webhook list': 'OperatorWebhook',
  'webhook deliveries': 'OperatorDelivery',
  'webhook delivery': 'OperatorDelivery',
  'webhook resend': 'OperatorDelivery',
  'webhook recover': 'acknowledgement',
  'webhook test': 'OperatorDelivery',
  'webhook enable': 'acknowledgement',
  'webhook disable': 'acknowledgement',
  'webhook remove': 'acknowledgement',
  'webhook rotate': 'OperatorWebhookSecret',
  'clock check': 'acknowledgement',
  'clock accept': 'acknowledgement',
  data: 'OperatorPersonalCopy',
  forget: 'OperatorForgotten',
  'parked list': 'OperatorParkedEvent',
  'parked replay': 'acknowledgement',
  'read-model list': 'OperatorReadModel',
  'read-model skip': 'acknowledgement',
  charges: 'OperatorCharges',
  backup: 'acknowledgement',
  restore: 'acknowledgement',
  export: 'acknowledgement',
  import: 'acknowledgement',
  unfence: 'acknowledgement',
  rebuild: 'acknowledgement',
  verify: 'OperatorVerification',
  seal: 'OperatorSeal',
  'seal-key': 'OperatorSealKey',
  proof: 'OperatorProof',
};

const DAY_MS = 24 * 3_600_000;

/** A field that no shape lists. */
const UNLISTED = 'unlistedField';

describe('what the command line prints for machines', () => {
  let service: RunningService;
  /** The arguments of each command that prints a shape, in an order in which they work. */
  let calls: readonly (readonly string[])[];

  beforeAll(async () => {
    service = await runService();
    const { core, time } = service;
    const { bookings, webhooks } = core.commands;
    // The command line goes by the real clock. A review needs a booking of the past.
    time.now = Date.now() - 10 * DAY_MS;
    const community = await service.community();
    const brand = await service.brand();
    const spaceId = await service.space(community);
    const request = async (days: number) => {
      const details = { spaceId, date: inDays(days), startHour: 10 };
      // An event is stored as it is, with who caused it.
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
    const { failed } = await openFailedEvents({ documents: core.documents, clock: core.clock, delaysMs: [] });
    await failed(requested, new Error('Broken'));

    const key = { account: brand.account, permissions: ALL_PERMISSIONS, label: 'Webhooks' };
    const { apiKeyId } = accepted(await core.commands.apiKeys.issue(key, CONTEXT));
    const owner = { credential: `apiKey:${apiKeyId}`, account: brand.account } as const;
    const register = async (url: string) =>
      accepted(await webhooks.register({ owner, url, events: 15 }, CONTEXT)).webhookId;
    const disabled = await register('https://example.com/');
    accepted(await webhooks.disable({ webhookId: disabled, reason: 'Asked for by phone' }, CONTEXT));
    // Nobody listens on port 1, so that the attempt ends with an error.
    const webhookId = await register('http://127.0.0.1:1/');
    const { deliveryId } = await failedTest(service, webhookId);

    accepted(
      await core.users.add(
        { email: 'ada@example.com', password: 'ten or more', accounts: [brand.account] },
        BY_OPERATOR,
      ),
    );
    await core.authorizationServer.signingKeys.rotate();
    addEverywhere(service.config.dataDir);

    const ada = ['--email', 'ada@example.com'];
    const harbour = ['--community', String(community.id)];
    const terms = ['--name', 'Attic', '--window', '9-22', '--duration', '4', '--fee', '200.00'];
    calls = [
      ['verify'],
      ['read-model', 'list'],
      ['seal'],
      ['seal-key'],
      ['proof', String(completed)],
      ['community', 'add', '--name', 'Union Yard', '--time-zone', 'America/New_York'],
      ['community', 'list'],
      ['space', 'add', ...harbour, ...terms],
      ['space', 'change', String(spaceId), '--name', 'Greater Hall'],
      ['space', 'close', String(spaceId)],
      ['space', 'open', String(spaceId)],
      ['space', 'list'],
      ['brand', 'add', '--name', 'Juniper'],
      ['brand', 'list'],
      ['api-key', 'issue', ...harbour],
      ['api-key', 'list'],
      ['user', 'add', ...harbour, '--email', 'grace@example.com'],
      ['user', 'join', ...harbour, ...ada],
      ['user', 'leave', ...harbour, ...ada],
      ['user', 'password', ...ada],
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
      ['review', 'post', String(completed), '--rating', '5', '--title', 'Quiet', '--content', 'And bright.'],
      ['webhook', 'list'],
      ['webhook', 'deliveries', webhookId],
      ['webhook', 'delivery', deliveryId],
      ['webhook', 'resend', deliveryId],
      ['webhook', 'test', webhookId],
      ['webhook', 'rotate', webhookId],
      ['parked', 'list'],
      ['data', '--brand', String(brand.id)],
      ['forget', '--brand', String(brand.id)],
    ];
  });
  afterAll(() => service.stop());

  test('is a shape of the contract or an acknowledgement, for every command', async () => {
    const commands: string[] = [];
    for (const group of await commandsIn('--help')) {
      const within = await commandsIn(group, '--help');
      commands.push(...(within.length === 0 ? [group] : within.map((name) => `${group} ${name}`)));
    }
    expect(commands.toSorted()).toEqual(Object.keys(PRINTS).toSorted());
  });

  test('has the fields of its shape, in that order, and no other that is stored', async () => {
    useDataDir(service.config.dataDir);
    const stdin = vi.spyOn(process, 'stdin', 'get');
    stdin.mockImplementation(() => Readable.from(['a new password']) as typeof process.stdin);
    onTestFinished(() => stdin.mockRestore());
    const seen = new Set<string>();
    for (const call of calls) {
      const command = call.slice(0, (call[0] ?? '') in PRINTS ? 1 : 2).join(' ');
      const shape = PRINTS[command];
      if (shape === undefined || shape === 'acknowledgement') throw new Error(`${command} prints no shape`);
      // Stored documents differ from the log, because they have the unlisted field; they are shown whole.
      const printed = command === 'verify' ? await verification() : await json(...call);
      const entries = Array.isArray(printed) ? printed : [printed];
      expect(entries, command).not.toEqual([]);
      for (const entry of entries) expectFields(OPERATOR_SHAPES[shape], entry, command);
      // These show what is stored, because that is the point.
      if (!['verify', 'proof', 'data'].includes(command))
        expect(JSON.stringify(printed), command).not.toContain(UNLISTED);
      seen.add(command);
    }
    const shown = Object.keys(PRINTS).filter((command) => PRINTS[command] !== 'acknowledgement');
    expect([...seen].toSorted()).toEqual(shown.toSorted());
  });

  test('is as picky for spaces that MCP lists', async () => {
    const { spaces } = await findSpaces(service);
    expect(spaces).not.toEqual([]);
    for (const space of spaces) expectFields(SpaceListing, space, 'find_spaces');
  });
});

/** The fields of a schema that a value has must be all that it has, in the same order; those that are required must be there. */
function expectFields(schema: TSchema, value: unknown, where: string): void {
  if ('items' in schema && Array.isArray(value)) {
    for (const item of value) expectFields(schema.items as TSchema, item, where);
    return;
  }
  if (!IsObject(schema)) return;
  expect(value, where).toBeTypeOf('object');
  const entries: Readonly<Record<string, unknown>> = { ...(value as object) };
  const present = Object.keys(schema.properties).filter((field) => field in entries);
  expect(Object.keys(entries), where).toEqual(present);
  expect(present, where).toEqual(expect.arrayContaining([...(schema.required ?? [])]));
  for (const field of present) {
    const of = schema.properties[field];
    if (of !== undefined) expectFields(of, entries[field], `${where}: ${field}`);
  }
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

/** Adds an unlisted field to every object of every stored document. */
function addEverywhere(dataDir: string): void {
  for (const file of ['read-models.sqlite', 'records.sqlite']) {
    const database = new DatabaseSync(join(dataDir, file), { timeout: 10_000 });
    const tables = database.prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%document TEXT%'`,
    );
    for (const { name } of tables.all()) {
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

/** What `verify` prints when documents differ, with which it fails. */
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
    tool.register(server, { caller, correlationId: 'test', answerBy: performance.now() + 10_000 });
  const result = await call?.({});
  return JSON.parse(JSON.stringify(result?.structuredContent));
}
