import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

test('after the command line reports a key as revoked, no process accepts it, even with a frozen projector', async () => {
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
  expect((await call(serving, brand.apiKey, '/bookings')).status).toBe(401);

  // A process that was frozen meanwhile does not accept the key either.
  process.kill(projecting.pid, 'SIGCONT');
  // Idle connections of this test may have timed out meanwhile, which fails a call. Its first answer counts.
  const { status } = await eventually(() => call(projecting, brand.apiKey, '/bookings'));
  expect(status).toBe(401);
});
