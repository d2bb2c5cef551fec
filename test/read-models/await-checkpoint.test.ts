import { expect, test } from 'vitest';
import type { Checkpoint } from '../../src/document-store/document-store.ts';
import { watchCheckpoints } from '../../src/read-models/await-checkpoint.ts';
import type { Entry } from '../../src/read-models/catalogue.ts';
import { counts } from '../projector/space-trails.ts';

test('after a swap, an answer also waits for the former collection, which other processes may still read', async () => {
  const entry: Entry = { live: 'rebuilt', retiring: ['former'], types: counts.types };
  const stored = new Map<string, Checkpoint>([
    ['rebuilt', { position: '05', events: 5 }],
    ['former', { position: '04', events: 4 }],
  ]);
  const watch = watchCheckpoints({
    projections: [counts],
    known: {
      get: () => ({ entry }),
      others: () => [],
      isReadable: () => true,
      isKnownToFail: () => false,
      refreshedAt: () => performance.now(),
      refresh: async () => {},
      version: () => 1,
      changed: async () => {},
      settled: async () => {},
    },
    documents: {
      checkpoints: async (names) =>
        new Map([...stored].filter(([name]) => names === undefined || names.includes(name))),
    },
  });
  expect(await watch.waitFor('05', { timeoutMs: 100 })).toBe(false);
  const waiting = watch.waitFor('05');
  stored.set('former', { position: '05', events: 5 });
  expect(await waiting).toBe(true);
});
