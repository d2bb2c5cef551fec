import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Row } from '../../projections/projection.ts';
import type { Projected } from '../../src/document-store/document-store.ts';
import type { Batch } from '../../src/event-store/event-store.ts';
import { type Building, bulkBuild } from '../../src/projector/bulk-build.ts';
import { idOf, START } from '../../src/read-models/catalogue.ts';
import { recorded, trails } from './space-trails.ts';

/** Every event creates a document. */
const EVENTS = recorded(Array.from({ length: 60 }, (_, space) => ({ space, type: 'SpaceAdded' as const })));

test('folding continues while a step is written, until the next step is twice as large', async () => {
  let folded = 0;
  const batches = async function* (): AsyncGenerator<Batch> {
    for (const [at, event] of EVENTS.entries()) {
      yield { events: [event], position: event.position, caughtUp: at === EVENTS.length - 1 };
      folded += 1;
      await nextTurn();
    }
  };
  const steps: (readonly Projected<Row>[])[] = [];
  const gate = Promise.withResolvers<void>();
  const projection: Building['projection'] = trails();
  const building: Building = {
    id: idOf(projection),
    collection: 'trails@1.1',
    projection,
    skipped: new Set(),
    load: {
      projected: async () => new Map(),
      write: async (step) => {
        steps.push(step);
        await gate.promise;
        return true;
      },
      finish: async () => {},
      close: async () => {},
    },
  };
  const places: number[] = [];
  const done = bulkBuild(
    {
      events: { subscribe: batches },
      signal: new AbortController().signal,
      logger: { info: () => {} },
      step: { stepDocuments: 10 },
      isWanted: () => true,
      reached: (_, { events }) => places.push(events),
      failed: async (_, failure) => Promise.reject(failure),
    },
    [building],
    START,
  );
  for (let turns = 0; turns < 200; turns += 1) await nextTurn();
  // The first step is being written and the second one is full, so no more of the log is read.
  expect({ folded, steps: steps.map(({ length }) => length), places }).toEqual({ folded: 29, steps: [10], places: [] });

  gate.resolve();
  expect(await done).toEqual({ checkpoint: { position: EVENTS.at(-1)?.position, events: 60 }, built: [building] });
  expect(steps.flat().map(({ key }) => key)).toEqual(
    EVENTS.map(({ data }) => String('spaceId' in data && data.spaceId)),
  );
  expect(steps.map(({ length }) => length).every((length) => length <= 20)).toBe(true);
  expect(places.at(-1)).toBe(60);
});
