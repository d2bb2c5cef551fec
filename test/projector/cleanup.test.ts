import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createCleanup } from '../../src/projector/cleanup.ts';
import { EMPTY } from '../../src/read-models/generations.ts';

test('a generation that cannot be dropped is logged once a minute, and the others are dropped', async () => {
  const tried: string[] = [];
  const warnings: unknown[] = [];
  const present = ['damaged', 'readModelGenerations', 'aaaaaaaa.1', 'bbbbbbbb.2'];
  const cleanup = createCleanup({
    documents: {
      async drop(name) {
        tried.push(name);
        if (name === 'aaaaaaaa.1') throw new Error('disk I/O error');
      },
      names: async () => present,
    },
    heartbeats: { living: async () => [] },
    leases: { tryAcquire: async () => undefined },
    retireAfterMs: 86_400_000,
    logger: { info: () => {}, warn: (details: unknown) => void warnings.push(details) },
    read: async () => ({ key: 'all', version: 0, document: EMPTY }),
    apply: async () => {},
  });
  for (let round = 0; round < 10; round += 1) {
    await cleanup.tick(1);
    await setImmediate();
  }
  await cleanup.stop();
  expect(tried).toEqual(['aaaaaaaa.1', 'bbbbbbbb.2']);
  expect(warnings).toMatchObject([{ generation: 'aaaaaaaa.1' }]);
});
