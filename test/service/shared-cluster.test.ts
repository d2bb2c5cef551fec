import { randomBytes, randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createLiveFeed } from '../../src/console/live/live.ts';
import { brandId } from '../../src/domain/ids.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { eventually } from '../eventually.ts';
import { runService } from '../running-service.fixture.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

async function startCluster() {
  const server = await EventStoreDbServer.start();
  const client = EventStoreDBClient.connectionString(server.url);
  onTestFinished(async () => {
    await client.dispose();
    await server.stop();
  });
  return {
    server,
    /** Events of another application whose types exist in the service, too. */
    async otherApplication(order = randomUUID()): Promise<void> {
      for (const type of ['BookingApproved', 'BookingRequested', 'ReviewPosted', 'ApiKeyIssued'])
        await client.appendToStream(`order-${order}`, jsonEvent({ type, data: { order } }));
    },
    async start(settings: Readonly<Record<string, string>> = {}) {
      const SECRET_KEY = randomBytes(32).toString('base64');
      const service = await runService({ EVENTSTORE_URL: server.url, SECRET_KEY, ...settings });
      await service.core.webhooks.start();
      onTestFinished(async () => {
        await service.core.webhooks.stop();
        await service.stop();
      });
      return service;
    },
  };
}

type Service = Awaited<ReturnType<Awaited<ReturnType<typeof startCluster>>['start']>>;

/** Makes a booking, and checks that the service shows it and nothing else. */
async function bookOnce(service: Service, startTime: string): Promise<void> {
  const spaceId = await service.space(await service.community());
  const { key } = await service.brand();
  const booked = await service.post('/bookings', { key, body: { spaceId, startTime, startHour: 10 } });
  expect(booked.statusCode).toBe(201);
  expect((await service.get('/bookings', { key })).json()).toEqual([booked.json()]);
  expect((await service.call('GET', '/readyz')).statusCode).toBe(200);
}

test('events of another application with the same types affect nothing, including the live feed', async () => {
  const { otherApplication, start } = await startCluster();
  await otherApplication();
  const service = await start();
  const { events, projector, webhooks } = service.core;
  const logger = { error: vi.fn() };
  const feed = createLiveFeed({ events, readModels: projector.readModels, webhooks, logger });
  onTestFinished(() => feed.stop());
  const topics: string[] = [];
  const { stop } = feed.subscribe(
    {
      account: { kind: 'Brand', id: brandId(1) },
      topics: new Set(['hours:1:2026-12-10']),
      onChange: ({ topic }) => void topics.push(topic),
    },
    await feed.mark(),
  );
  await otherApplication();
  await bookOnce(service, '2026-12-10');
  await eventually(() => expect(topics).toContain('hours:1:2026-12-10'));
  await otherApplication();
  expect(logger.error).not.toHaveBeenCalled();
  expect(await service.core.webhooks.listFailedEvents()).toEqual([]);
  stop();
});

test('stores with their own prefixes, and one without, share a cluster without seeing each other’s data', async () => {
  const { server, otherApplication, start } = await startCluster();
  await otherApplication();
  const services = [
    await start({ EVENTSTORE_PREFIX: 'one' }),
    await start({ EVENTSTORE_PREFIX: 'one-more' }),
    await start(),
  ];
  for (const service of services) await bookOnce(service, '2026-12-10');
  const prefixes = (names: readonly string[]) =>
    new Set(names.filter((name) => !name.startsWith('order-')).map((name) => /^(.*\.)?/.exec(name)?.[0]));
  expect(prefixes(server.streams)).toEqual(new Set(['one.', 'one-more.', '']));
  expect(prefixes(server.groups)).toEqual(new Set(['one.', 'one-more.', '']));
  // The server sends a group nothing of the other stores.
  const stores = ['one.', 'one-more.', ''];
  for (const created of server.created) {
    const name = created.getGroupName();
    const filter = new RegExp(created.getAll()?.getFilter()?.getEventType()?.getRegex() ?? '');
    const [, prefix = '', kind = ''] = /^(.*\.)?webhook-deliveries-(.*)$/.exec(name) ?? expect.fail(name);
    expect(stores.filter((store) => filter.test(`${store}${kind}`))).toEqual([prefix]);
  }
});

test('a log with only foreign events counts as empty for demo data', { timeout: 60_000 }, async () => {
  const { server, otherApplication } = await startCluster();
  await otherApplication();
  const service = await startServiceProcess(temporaryDataDir(), {
    EVENTSTORE_URL: server.url,
    EVENTSTORE_PREFIX: 'demo',
    DEMO: 'true',
    SECRET_KEY: randomBytes(32).toString('base64'),
  });
  const key = service.demo().brands[0]?.apiKey ?? '';
  expect((await call(service, key, '/bookings')).body.length).toBeGreaterThan(0);
});
