import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Heartbeats } from '../../src/leases/heartbeats.ts';
import { CollectionCleanup } from '../../src/projector/cleanup.ts';
import type { Catalogue, CatalogueEvent } from '../../src/read-models/catalogue.ts';
import type { NodeStatus } from '../../src/read-models/node-status.ts';

test('a collection that cannot be dropped is logged once and tried again later, and the others are dropped', async () => {
  const tried: string[] = [];
  const applied: CatalogueEvent[] = [];
  const warnings: string[] = [];
  const catalogue: Catalogue = { models: {}, collections: 2, dropping: ['damaged', 'old'] };
  const cleanup = new CollectionCleanup({
    documents: {
      async drop(name) {
        tried.push(name);
        if (name === 'damaged') throw new Error('disk I/O error');
      },
      names: async () => [],
    },
    heartbeats: { living: async () => [], session: 'one' } as unknown as Heartbeats<NodeStatus>,
    retireAfterMs: 86_400_000,
    graceMs: 1_000,
    logger: { info: () => {}, warn: (details: unknown) => void warnings.push(JSON.stringify(details)) } as never,
    async apply(...events) {
      applied.push(...events);
      return catalogue;
    },
  });
  for (let round = 0; round < 10; round += 1) {
    await cleanup.tick(catalogue, true);
    await setImmediate();
  }
  await cleanup.stop();
  expect(tried).toEqual(['damaged', 'old']);
  expect(applied).toEqual([{ type: 'Dropped', collections: ['old'] }]);
  expect(warnings).toMatchObject([expect.stringContaining('damaged')]);
});
