import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { startDemo } from '../console/console.fixture.ts';
import { MONGODB, ownDatabase } from '../document-store/engines.ts';
import { commandIn } from '../document-store/mongodb/commands.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { lacks } from '../lacks.ts';
import { startProxyTo } from '../proxy.ts';
import { temporaryDataDir } from './service-process.ts';

/** Longer than a start waits for read models before it accepts requests. */
const LONGER_THAN_A_START_WAITS_MS = 6_000;

/** Empty stores, on which the indexes of one read model are slow to create. */
async function slowStores(takesMs: number) {
  const log = await EventStoreDbServer.start();
  let isCreated = false;
  const mongo = await startProxyTo(ownDatabase(), (passing, chunk) => {
    const { name, collection = '' } = (passing === 'request' && commandIn(chunk)) || {};
    if (isCreated || name !== 'createIndexes' || !collection.endsWith('.communities')) return false;
    isCreated = true;
    return takesMs;
  });
  onTestFinished(async () => {
    mongo.close();
    await log.stop();
  });
  const SECRET_KEY = randomBytes(32).toString('base64');
  return { EVENTSTORE_URL: log.url, MONGODB_URL: mongo.url, SECRET_KEY, LOG_LEVEL: 'silent' };
}

test.skipIf(lacks(MONGODB))('a first start waits for its read models, even when index creation is slow', async () => {
  const running = await startDemo({ ...(await slowStores(LONGER_THAN_A_START_WAITS_MS)), DEMO: 'true' });
  onTestFinished(() => running.stop());
  expect(running.demo.communities).toHaveLength(2);
  expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
  const [brand] = running.demo.brands;
  const bookings = await fetch(`${running.url}/api/v1/bookings`, {
    headers: { authorization: `Bearer ${brand.apiKey}` },
  });
  expect(await bookings.json()).not.toEqual([]);
});

test.skipIf(lacks(MONGODB))('a process reports ready only after the read models are built', async () => {
  const stores = await slowStores(2_000);
  const start = async (ROLES: string) => {
    const config = readConfig({ ...stores, ROLES, DATA_DIR: temporaryDataDir(), PORT: String(await freePort()) });
    const service = await startService(config, pino({ level: 'silent' }));
    onTestFinished(() => service.stop());
    return config.port;
  };
  const port = await start('api');
  const ready = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
    return [answer.status, await answer.text()];
  };
  expect(await ready()).toEqual([503, expect.stringContaining('"communities":"being built')]);
  const building = start('projector');
  await eventually(async () => expect((await ready())[0]).toBe(200));
  await building;
});
