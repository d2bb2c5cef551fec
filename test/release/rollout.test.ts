import { expect, test } from 'vitest';
import { lacks } from '../lacks.ts';
import { embeddedEngines } from '../soak/store.ts';
import { HISTORY } from './releases.ts';
import { rollOutAndBack } from './rollout.ts';

test.skipIf(lacks(HISTORY))(
  'rolling a release out and back under load, with kills and a freeze, breaks no promise',
  async () => {
    const store = await embeddedEngines.openStore();
    const outcome = await rollOutAndBack({ store, phaseMs: 1_500, restMs: 50 });
    expect(outcome.broken.slice(0, 10), store.folder).toEqual([]);
    expect(outcome.acknowledged).toBeGreaterThan(10);
    expect(outcome.deliveries).toBeGreaterThanOrEqual(outcome.acknowledged);
    await store.remove();
  },
  300_000,
);
