import { expect, test } from 'vitest';
import { rollOutAndBack } from './rollout.ts';

test('a release is rolled out and back under load, with kills and a freeze: every promise holds', async () => {
  const outcome = await rollOutAndBack({ phaseMs: 1_500 });
  expect(outcome.broken.slice(0, 10)).toEqual([]);
  expect(outcome.acknowledged).toBeGreaterThan(50);
  expect(outcome.deliveries).toBeGreaterThanOrEqual(outcome.acknowledged);
}, 180_000);
