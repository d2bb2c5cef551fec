import { expect, onTestFinished, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { call } from '../service/client.ts';
import { startServiceProcess, temporaryDataDir } from '../service/service-process.ts';
import { answering, startReceiver } from '../webhooks/receiver.ts';
import { json, useDataDir } from './in-process.ts';

test('lists, resends, tests, recovers and stops deliveries of a running service', async () => {
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

  receiver.answer = answering(500);
  for (let i = 1; i <= 5; i++)
    await call(service, brands[0]?.apiKey ?? '', '/bookings', {
      spaceId: spaces[0]?.id,
      startTime: inDays(60 + i),
      startHour: 9,
    });
  await expect.poll(() => webhook('list')).toMatchObject([{ id, pausedSince: expect.any(String) }]);
  receiver.answer = answering(200);
  const before = receiver.received.length;
  await webhook('test', id);
  await receiver.until(before + 6);
  await expect.poll(() => webhook('list')).toMatchObject([{ id, status: 'enabled' }]);
  expect((await webhook('list'))[0]).not.toHaveProperty('pausedSince');

  receiver.answer = answering(410);
  const moment = new Date().toISOString();
  const after = receiver.received.length;
  await book(14);
  await receiver.until(after + 1);
  await expect.poll(() => webhook('list')).toMatchObject([{ id, status: 'disabled' }]);

  receiver.answer = answering(200);
  await webhook('enable', id);
  expect(await webhook('recover', id, '--since', moment)).toEqual({ id, due: 1 });
  await receiver.until(after + 2);
  expect(JSON.parse(receiver.received.at(-1)?.body ?? '')).toMatchObject({
    event: 'BookingRequested',
    data: { startHour: 14 },
  });

  const { signingSecret } = await webhook('rotate', id);
  expect(signingSecret).toMatch(/^whsec_/);
  await webhook('remove', id);
  expect(await webhook('list')).toEqual([]);
});
