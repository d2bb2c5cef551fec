import { expect, test } from 'vitest';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

test('a service that runs is alive and ready, and says how far its read models are', async () => {
  const { url } = await startServiceProcess(temporaryDataDir());
  const alive = await fetch(`${url}/healthz`);
  expect([alive.status, await alive.json()]).toEqual([200, { status: 'ok' }]);
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { status: 'ready', eventStore: 'ok', documentStore: 'ok', eventsBehind: 0 },
  ]);
});
