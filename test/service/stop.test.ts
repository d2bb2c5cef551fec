import { once } from 'node:events';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { call, inDays } from './client.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

test('SIGTERM under load: requests in flight are completed, no new ones accepted, and the process exits with 0 within 10 s', async () => {
  const service = await startServiceProcess(temporaryDataDir());
  const demo = service.demo();
  const key = demo.brands[0]?.apiKey ?? '';
  const spaceId = demo.communities[0]?.spaces[0]?.id;

  let stopping = false;
  const load = Array.from({ length: 8 }, async () => {
    for (;;) {
      const answer = await call(service, key, '/bookings').catch((error: unknown) => error);
      // Late calls are refused by the system; none gets an error response.
      if (stopping && answer instanceof Error) return;
      expect(answer).toMatchObject({ status: 200 });
    }
  });

  const body = JSON.stringify({ spaceId, startTime: inDays(40), startHour: 10 });
  const halfway = request(`${service.url}/api/v1/bookings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'content-length': body.length },
  });
  const responded = once(halfway, 'response');
  halfway.write(body.slice(0, 20));
  await delay(300);

  const began = performance.now();
  stopping = true;
  const ended = service.end('SIGTERM');
  await delay(300);
  const late = await call(service, key, '/bookings').catch(() => 'refused');
  expect(late).toBe('refused');
  halfway.end(body.slice(20));
  const [response] = await responded;
  expect(response.statusCode).toBe(201);
  expect(JSON.parse(await text(response))).toMatchObject({ status: 'Pending', spaceId });

  expect(await ended).toBe(0);
  expect(performance.now() - began).toBeLessThan(10_000);
  await Promise.all(load);
});

test('a client that never finishes its request does not prevent a clean exit', async () => {
  const service = await startServiceProcess(temporaryDataDir());
  const authorization = `Bearer ${service.demo().brands[0]?.apiKey}`;
  const headers = { authorization, 'content-type': 'application/json', 'content-length': 100 };
  const stalled = request(`${service.url}/api/v1/bookings`, { method: 'POST', headers });
  const broken = once(stalled, 'error');
  stalled.write('{"spaceId":');
  await delay(300);
  expect(await service.end('SIGTERM')).toBe(0);
  await broken;
});
