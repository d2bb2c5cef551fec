import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

test('a load balancer that checks /readyz drops no request while a service stops', async () => {
  const service = await startServiceProcess(temporaryDataDir(), { DRAIN: 'PT1S' });
  const { brands, communities } = service.demo();
  const key = brands[0]?.apiKey ?? '';
  const spaceId = communities[0]?.spaces[0]?.id;

  const seen: string[] = [];
  let inRotation = true;
  const poller = (async () => {
    while (inRotation) {
      const answer = await fetch(`${service.url}/readyz`).catch(() => undefined);
      seen.push(answer === undefined ? 'refused' : String(answer.status));
      await answer?.arrayBuffer();
      if (answer?.status !== 200) inRotation = false;
      await sleep(50);
    }
  })();

  const answers: unknown[] = [];
  let next = 0;
  const load = Array.from({ length: 8 }, async (_, worker) => {
    while (inRotation) {
      next += 1;
      const wanted = { spaceId, startTime: inDays(30 + next), startHour: 12 };
      const answer = await call(service, key, '/bookings', worker % 2 === 0 ? wanted : undefined).catch(
        (error: unknown) => error,
      );
      answers.push(answer instanceof Error ? answer : Object(answer).status);
    }
  });

  await sleep(300);
  const ended = service.end('SIGTERM');
  await Promise.all([poller, ...load]);
  expect(seen.at(-1)).toBe('503');
  expect(new Set(answers)).toEqual(new Set([200, 201]));
  expect(await ended).toBe(0);
});
