import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Core, openCore } from '../../src/core.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { brandId } from '../../src/domain/ids.ts';
import { ConfigError } from '../../src/runtime/config-error.ts';
import type { SecretKey } from '../../src/secrets/secret-key.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { type EnginePair, enginePairs } from '../engine-pairs.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';

const [OLD, NEW] = [randomBytes(32), randomBytes(32)];

describe.each(enginePairs)('the secret key is replaced on %s', (_, engines) => {
  let pair: EnginePair;
  /** A process that seals with the old key, and knows the new one. */
  let service: RunningService;
  let receiver: Receiver;
  let brand: Awaited<ReturnType<RunningService['brand']>>;
  let webhook: { readonly id: string; readonly signingSecret: string };
  let booking: number;
  let clientId: string;
  let signUp: string;
  let sealedBefore: ReadonlySet<string>;

  beforeAll(async () => {
    pair = await engines();
    const { SECRET_KEY: _, ...settings } = pair.settings;
    service = await runService({
      ...settings,
      SECRET_KEYS: [OLD, NEW].map((key) => key.toString('base64')).join(),
      MAIL_INBOX: 'true',
    });
    receiver = await startReceiver();
    const community = await service.community();
    brand = await service.brand();
    const spaceId = await service.space(community);
    const body = { spaceId, startTime: '2026-12-10', startHour: 10, message: 'Zwetschgenkuchen' };
    booking = (await service.post('/bookings', { key: brand.key, body })).json().id;
    webhook = (await service.post('/webhooks', { key: brand.key, body: { url: receiver.url, events: 15 } })).json();
    const { authorizationServer } = service.core;
    const client = { account: brand.account, name: 'Import' } as const;
    clientId = accepted(await authorizationServer.clients.addClient(client, BY_OPERATOR)).clientId;
    await authorizationServer.signingKeys.current();
    await service.core.mail.sendTest('ada@example.com');
    const typed = { brandName: 'Fern', email: 'fern@example.com', password: 'correct horse battery' };
    signUp = accepted(await service.core.signUps.begin(typed, '127.0.0.1'));
    sealedBefore = await sealedIn(service.core);
  });
  afterAll(async () => {
    await service.stop();
    await pair.stop();
    await receiver.close();
  });

  async function open(secretKey: SecretKey): Promise<Core> {
    const config = { ...service.config, secretKey };
    const core = await openCore(config, pino({ level: 'silent' }), { clock: () => service.time.now });
    await core.projector.readModels.readable(10_000);
    return core;
  }

  /** What the records hold that is sealed under the secret key; the texts of deliveries are under keys of their own. */
  async function sealedIn({ documents }: Core): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const { name, kind } of await documents.collections()) {
      if (kind !== 'record' || name === 'webhookDeliveries') continue;
      const collection = await documents.open<object>({ name, kind, indexes: [] });
      for await (const { document } of collection.find(everyDocument()))
        for (const [sealed] of JSON.stringify(document).matchAll(/v1\.[\w-]{38,}/g)) found.add(sealed);
    }
    return found;
  }

  test('before the rotation, the new key alone is refused and nothing changes', async () => {
    await expect(open(NEW)).rejects.toThrow(ConfigError);
    await expect(open(NEW)).rejects.toThrow('SECRET_KEY');
    expect(await sealedIn(service.core)).toEqual(sealedBefore);
  });

  test('with both keys, everything is read, and sealed again under the new one', async () => {
    expect(sealedBefore.size).toBeGreaterThanOrEqual(4);
    const both = await open([NEW, OLD]);
    expect(await both.queries.bookings.get(brand.account, booking)).toMatchObject({ message: 'Zwetschgenkuchen' });
    expect(await both.resealRecords(() => {})).toBeGreaterThanOrEqual(4);
    expect([...(await sealedIn(both))].filter((sealed) => sealedBefore.has(sealed))).toEqual([]);
    expect(await both.resealRecords(() => {})).toBe(0);
    await both.close();
  });

  test('a process that still seals with the old key continues to work', async () => {
    const { queries, commands } = service.core;
    expect(await queries.bookings.get(brand.account, booking)).toMatchObject({ message: 'Zwetschgenkuchen' });
    const by = { kind: 'Brand', id: brandId(brand.id) } as const;
    accepted(await commands.bookings.cancel({ bookingId: booking, by, reason: 'Nieselregen' }, CONTEXT));
  });

  test('after the rotation, the new key alone opens everything, texts in the log included', async () => {
    const alone = await open(NEW);
    expect(await alone.queries.bookings.get(brand.account, booking)).toMatchObject({
      message: 'Zwetschgenkuchen',
      reason: 'Nieselregen',
    });
    expect(await alone.authorizationServer.clients.adapter.find(clientId)).toMatchObject({ client_id: clientId });
    expect(await alone.signUps.mailed(signUp)).toMatchObject({ email: 'fern@example.com' });
    await alone.authorizationServer.signingKeys.check();
    expect(await alone.mail.inbox?.list()).toMatchObject([{ to: 'ada@example.com' }]);
    await alone.webhooks.start();
    accepted(await alone.webhooks.sendTest(webhook.id));
    const [sent] = await receiver.until(1);
    const headers = sent?.headers as Record<string, string>;
    expect(() => new Webhook(webhook.signingSecret).verify(sent?.body ?? '', headers)).not.toThrow();
    await alone.webhooks.stop();
    await alone.close();
  });

  test('after the rotation, the old key alone is refused', async () => {
    await expect(open(OLD)).rejects.toThrow('SECRET_KEY');
  });

  test.each([
    ['the keys were given in the wrong order', [OLD, NEW], [NEW, OLD]],
    ['it is replaced by the one before', [NEW, OLD], [OLD, NEW]],
  ] as const)('one alone is enough, too, if %s', async (_, first, then) => {
    for (const keys of [first, then]) {
      const both = await open(keys);
      await both.resealRecords(() => {});
      await both.close();
    }
    const alone = await open(then[0]);
    expect(await alone.queries.bookings.get(brand.account, booking)).toMatchObject({ message: 'Zwetschgenkuchen' });
    expect(await alone.authorizationServer.clients.adapter.find(clientId)).toMatchObject({ client_id: clientId });
    await alone.close();
    await expect(open(then[1])).rejects.toThrow('SECRET_KEY');
  });
});
