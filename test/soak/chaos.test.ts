import { expect, test } from 'vitest';
import { chaos } from './chaos.ts';
import { createRandom } from './random.ts';
import { embeddedEngines } from './store.ts';

test('killing, freezing and restarting processes of all roles under load breaks no promise', async () => {
  const store = await embeddedEngines.openStore();
  const outcome = await chaos({ store, random: createRandom(2), forMs: 3_000, progress: () => {} });
  expect(outcome.broken.slice(0, 10), store.folder).toEqual([]);
  expect(outcome.acknowledged).toBeGreaterThan(10);
  expect(outcome.deliveries).toBeGreaterThanOrEqual(outcome.acknowledged);
  await store.remove();
}, 300_000);
