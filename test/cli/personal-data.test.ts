import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

const PASSWORD = 'correct horse battery';

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
beforeEach(() => useDataDir(service.config.dataDir));

const context = { ...CONTEXT, by: CONTEXT.actor } as never;

async function book(startTime: string, message?: string) {
  const body = { spaceId: space, startTime, startHour: 10, message };
  return Number((await service.post('/bookings', { key: brand.key, body })).json().id);
}

describe('venue data', () => {
  test('prints all data of a brand with texts decrypted and without secrets', async () => {
    const acme = await service.brand('Data & Sons');
    const key = { account: acme.account, permissions: 31, label: 'The desk of Data & Sons' };
    const issued = accepted(await service.core.commands.apiKeys.issue(key, CONTEXT));
    const { users } = service.core;
    const email = 'data@example.com';
    const user = accepted(await users.add({ email, password: PASSWORD, accounts: [acme.account] }, context));
    const body = { spaceId: space, startTime: '2026-12-15', startHour: 10, message: 'Pfifferlinge' };
    const headers = { 'idempotency-key': 'once' };
    const { id } = (await service.post('/bookings', { key: issued.key, body, headers })).json();
    const hook = { url: 'https://example.com/hook', events: 15 };
    const webhook = (await service.post('/webhooks', { key: issued.key, body: hook })).json();
    const stranger = await book('2026-12-16', 'Of somebody else');

    const copy = await json('data', '--brand', String(acme.id));
    expect(copy).toMatchObject({ subject: `brand:${acme.id}`, name: 'Data & Sons', copiedAt: expect.any(String) });
    const kinds = copy.events.map(({ type }: { type: string }) => type);
    expect(kinds).toEqual(
      expect.arrayContaining(['BrandAdded', 'ApiKeyIssued', 'MemberAdded', 'BookingRequested', 'WebhookRegistered']),
    );
    const requested = copy.events.find(({ type }: { type: string }) => type === 'BookingRequested');
    expect(requested.data).toMatchObject({ bookingId: id, message: 'Pfifferlinge' });
    const records = copy.records.map(({ collection }: { collection: string }) => collection);
    expect(records).toEqual(expect.arrayContaining(['apiKeyUses', 'idempotencyKeys', 'users', 'subjectKeys']));
    const text = JSON.stringify(copy);
    expect(text).toContain('data@example.com');
    expect(text).not.toContain('Of somebody else');
    expect(text).not.toContain(`"bookingId":${stranger}`);
    const { document } = (await (
      await service.core.documents.open<{ passwordHash: string }>({ name: 'users', kind: 'record', indexes: [] })
    ).get(user.id)) ?? { document: { passwordHash: 'none' } };
    for (const secret of [document.passwordHash, issued.key, webhook.signingSecret, 'sealedKey', '"hash"'])
      expect(text).not.toContain(secret);
  });

  test('prints the record of a user and the user’s events in every account', async () => {
    const { users, commands } = service.core;
    const email = 'cem@example.com';
    const user = accepted(await users.add({ email, password: PASSWORD, accounts: [community.account] }, context));
    const id = await book('2026-12-17');
    const actor = { kind: 'user', id: user.id, account: community.account } as const;
    const by = { kind: 'Community', id: community.id } as const;
    accepted(await commands.bookings.cancel({ bookingId: id, by, reason: 'Morcheln' }, { ...CONTEXT, actor }));
    const copy = await json('data', '--user', user.id);
    expect(copy.name).toBe(email);
    expect(copy.events).toMatchObject([
      { type: 'MemberAdded' },
      { type: 'BookingCancelled', data: { reason: 'Morcheln' }, metadata: { actor: { id: user.id } } },
    ]);
    expect(copy.records).toMatchObject([
      { collection: 'subjectKeys', key: `user:${user.id}` },
      { collection: 'users', key: user.id, document: { email } },
    ]);
    await inProcess('forget', '--user', user.id);
    expect(JSON.stringify(await json('data', '--user', user.id))).not.toContain('Morcheln');
  });

  test('prints the deliveries to the subject’s own webhooks with bodies decrypted', async () => {
    await service.core.webhooks.start();
    const receiver = await startReceiver();
    const hook = { url: receiver.url, events: 1 };
    const owner = await service.brand('Receiver');
    await service.post('/webhooks', { key: owner.key, body: hook });
    const body = { spaceId: space, startTime: '2026-12-18', startHour: 10, message: 'Steinpilze' };
    await service.post('/bookings', { key: owner.key, body });
    await receiver.until(1);
    await eventually(async () => {
      const { records } = await json('data', '--brand', String(owner.id));
      const delivery = records.find(({ collection }: { collection: string }) => collection === 'webhookDeliveries');
      expect(JSON.parse(delivery?.document.body ?? '{}').data?.message).toBe('Steinpilze');
    });
    await service.core.webhooks.stop();
    await receiver.close();
  });

  test('refuses an unknown subject', async () => {
    expect(await inProcess('data', '--user', 'usr_nobody')).toMatchObject({
      code: 1,
      stderr: 'ResourceNotFound: There is no user usr_nobody.\n',
    });
    expect(await inProcess('data', '--brand', '999')).toMatchObject({
      code: 1,
      stderr: 'ResourceNotFound: There is no brand 999.\n',
    });
  });
});

describe('venue forget', () => {
  test('erases the texts of a brand while a service runs, and lists the remaining data', async () => {
    const id = await book('2026-12-10', 'Zwetschgenkuchen');
    expect((await inProcess('booking', 'show', String(id))).stdout).toContain('Zwetschgenkuchen');
    expect(await inProcess('forget', '--brand', String(brand.id))).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^subject +brand:\d+\nforgottenAt +\S+Z\n$/),
      stderr: 'The name Acme stays: it is in the log.\n',
    });
    expect((await inProcess('booking', 'show', String(id))).stdout).toMatch(/message +erased/);
    expect(await service.core.queries.bookings.get(brand.account, id)).toMatchObject({ message: 'erased' });
  });

  test('refuses a second time and loses nothing', async () => {
    const { code, stderr } = await inProcess('forget', '--brand', String(brand.id));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^ValidationError: The personal data of brand 1 was erased on \S+Z already\.\n$/),
    });
  });

  test('erases the reasons that a user wrote, and lists what else is stored about the user', async () => {
    const { users, commands, queries } = service.core;
    const email = 'ada@example.com';
    const user = accepted(await users.add({ email, password: PASSWORD, accounts: [community.account] }, context));
    const id = await book('2026-12-12');
    const actor = { kind: 'user', id: user.id, account: community.account } as const;
    const by = { kind: 'Community', id: community.id } as const;
    accepted(await commands.bookings.cancel({ bookingId: id, by, reason: 'Wirsing' }, { ...CONTEXT, actor }));
    const { stderr } = await inProcess('forget', '--user', user.id);
    expect(stderr).toContain('venue user remove --email ada@example.com');
    expect(await queries.bookings.get(brand.account, id)).toMatchObject({ reason: 'erased' });
  });

  test('erases the data of a user who was already removed', async () => {
    const { users, commands, queries } = service.core;
    const email = 'bea@example.com';
    const user = accepted(await users.add({ email, password: PASSWORD, accounts: [community.account] }, context));
    const id = await book('2026-12-13');
    const actor = { kind: 'user', id: user.id, account: community.account } as const;
    const by = { kind: 'Community', id: community.id } as const;
    accepted(await commands.bookings.cancel({ bookingId: id, by, reason: 'Wirsing' }, { ...CONTEXT, actor }));
    await users.remove(user.id, context);
    expect(await inProcess('forget', '--user', user.id)).toMatchObject({ code: 0, stderr: '' });
    expect(await queries.bookings.get(brand.account, id)).toMatchObject({ reason: 'erased' });
  });

  test('removing a user removes the address from all files of a running service', async () => {
    const email = 'clementine@example.com';
    await service.core.users.add({ email, password: PASSWORD, accounts: [community.account] }, context);
    const inFiles = () =>
      readdirSync(service.config.dataDir, { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .filter(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1').includes(email))
        .map(({ name }) => name);
    expect(inFiles()).not.toEqual([]);
    expect((await inProcess('user', 'remove', '--email', email)).code).toBe(0);
    expect(inFiles()).toEqual([]);
  });

  test.each([
    [['--brand', '999'], 'ResourceNotFound: There is no brand 999.', 1],
    [['--user', 'usr_nobody'], 'ResourceNotFound: There is no user usr_nobody.', 1],
    [[], 'ValidationError: one of --brand ID, --user ID and --community ID is required.', 2],
    [['--brand', '1', '--user', 'usr_1'], 'ValidationError: name one brand, user or community, not several.', 2],
  ])('refuses %j', async (options, line, code) => {
    expect(await inProcess('forget', ...options)).toMatchObject({ code, stderr: expect.stringContaining(line) });
  });
});
