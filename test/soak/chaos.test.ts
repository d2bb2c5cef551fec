import { expect, test } from 'vitest';
import { chaos } from './chaos.ts';
import { createRandom } from './random.ts';
import { embeddedEngines } from './store.ts';

test('processes of all roles are killed, frozen and restarted under load: every promise holds', async () => {
  const store = await embeddedEngines.openStore();
  const outcome = await chaos({ store, random: createRandom(2), forMs: 3_000, progress: () => {} });
  expect(outcome.broken.slice(0, 10), store.folder).toEqual([]);
  expect(outcome.acknowledged).toBeGreaterThan(10);
  expect(outcome.deliveries).toBeGreaterThanOrEqual(outcome.acknowledged);
  await store.remove();
}, 300_000);
