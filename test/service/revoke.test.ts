import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { streamOf } from '../../src/domain/streams.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { eventually } from '../eventually.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

test('a key revoked on the command line is refused by every process, even with a frozen projector', async () => {
  const dataDir = temporaryDataDir();
  const projecting = await startServiceProcess(dataDir);
  const serving = await startServiceProcess(dataDir, { ROLES: 'api', DEMO: 'false' });
  const [brand] = projecting.demo().brands;
  if (brand === undefined) throw new Error('No demo brand');
  const listed = await venue(dataDir, 'api-key', 'list', '--brand', String(brand.id), '--json');
  const [{ id }] = JSON.parse(listed.stdout);
  expect((await call(serving, brand.apiKey, '/bookings')).status).toBe(200);

  process.kill(projecting.pid, 'SIGSTOP');
  onTestFinished(() => void process.kill(projecting.pid, 'SIGCONT'));
  const revoked = await venue(dataDir, 'api-key', 'revoke', id);
  expect(revoked).toMatchObject({ code: 0, stderr: '' });
  await eventually(async () => expect((await call(serving, brand.apiKey, '/bookings')).status).toBe(401));

  // A process that was frozen meanwhile does not accept the key either.
  process.kill(projecting.pid, 'SIGCONT');
  // Idle connections of this test may have timed out meanwhile, which fails a call. Its first answer counts.
  const { status } = await eventually(() => call(projecting, brand.apiKey, '/bookings'));
  expect(status).toBe(401);
});

test('a revoked key is refused with 401 in a process whose read model of keys fails', async () => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
  const [revoked, valid] = service.demo().brands;
  if (revoked === undefined || valid === undefined) throw new Error('No demo brands');
  const listed = await venue(dataDir, 'api-key', 'list', '--brand', String(revoked.id), '--json');
  const [{ id }] = JSON.parse(listed.stdout);

  // A newer release has revoked the key, with an event that this one cannot fold.
  const events = await openSqliteEventStore({ path: join(dataDir, 'events.db') });
  const metadata = {
    at: new Date().toISOString(),
    actor: { kind: 'System', id: 'test' },
    correlationId: 'c',
    schema: 99,
  };
  await events.append(streamOf.apiKey(id), [{ type: 'ApiKeyRevoked', data: {}, metadata }], { expectedRevision: 0 });
  await events.close();
  await eventually(async () => {
    const ready = await (await fetch(`${service.url}/readyz`)).json();
    expect(ready).toMatchObject({ readModels: { apiKeys: expect.stringContaining('failing') } });
  });

  await eventually(async () => expect((await call(service, revoked.apiKey, '/bookings')).status).toBe(401));
  expect((await call(service, valid.apiKey, '/bookings')).status).toBe(200);
});
