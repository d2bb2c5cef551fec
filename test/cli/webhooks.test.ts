import { expect, onTestFinished, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { call } from '../service/client.ts';
import { startServiceProcess, temporaryDataDir } from '../service/service-process.ts';
import { answering, startReceiver } from '../webhooks/receiver.ts';
import { json, useDataDir } from './in-process.ts';

test('deliveries of a running service can be listed, resent, tested, recovered and stopped', async () => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir, { WEBHOOKS_ALLOW_PRIVATE: 'true' });
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  useDataDir(dataDir);
  const webhook = (...args: readonly string[]) => json('webhook', ...args);
  const { communities, brands } = service.demo();
  const { apiKey, spaces } = communities[0] ?? { apiKey: '', spaces: [] };
  const book = (startHour: number) =>
    call(service, brands[0]?.apiKey ?? '', '/bookings', { spaceId: spaces[0]?.id, startTime: inDays(60), startHour });

  const { id } = (await call(service, apiKey, '/webhooks', { url: receiver.url, events: 15 })).body;
  expect(await webhook('list')).toMatchObject([{ id, status: 'enabled', events: 15 }]);

  await book(9);
  await receiver.until(1);
  const sent = receiver.received[0]?.headers['webhook-id'];
  await expect.poll(() => webhook('deliveries', id)).toMatchObject([{ deliveryId: sent, state: 'Delivered' }]);

  await webhook('resend', `${sent}`);
  expect((await receiver.until(2))[1]?.headers['webhook-id']).toBe(sent);

  await webhook('test', id);
  expect(JSON.parse((await receiver.until(3))[2]?.body ?? '')).toMatchObject({ event: 'Test' });

  receiver.answer = answering(410);
  const moment = new Date().toISOString();
  await book(14);
  await receiver.until(4);
  await expect.poll(() => webhook('list')).toMatchObject([{ id, status: 'disabled' }]);

  receiver.answer = answering(200);
  await webhook('enable', id);
  expect(await webhook('recover', id, '--since', moment)).toEqual({ id, due: 1 });
  expect(JSON.parse((await receiver.until(5))[4]?.body ?? '')).toMatchObject({
    event: 'BookingRequested',
    data: { startHour: 14 },
  });

  const { signingSecret } = await webhook('rotate', id);
  expect(signingSecret).toMatch(/^whsec_/);
  await webhook('remove', id);
  expect(await webhook('list')).toEqual([]);
});
