import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Row } from '../../projections/projection.ts';
import type { Projected } from '../../src/document-store/document-store.ts';
import { SCHEMA } from '../../src/domain/events.ts';
import { isKnown, knownEvent, UnknownEvent } from '../../src/domain/known-event.ts';
import { createTarget, foldInto, type Target } from '../../src/projector/fold.ts';
import { type Step, steps, type World, worlds } from '../model/histories.ts';
import { recordProof } from '../proof/proof.ts';
import { DecidedHistory } from './decided-history.ts';
import { type DecidedLog, READ_MODELS } from './decided-log.ts';

const { RULE_HISTORIES = '100', RULE_SEED } = process.env;
const HISTORIES = Number(RULE_HISTORIES);
const seeded = RULE_SEED === undefined ? {} : { seed: Number(RULE_SEED) };

const eachStep = fc.array(steps, { minLength: 20, maxLength: 80, size: 'max' });

/** The log of a history, each step of which was answered as the model says. */
function logOf(world: World, each: readonly Step[]): DecidedLog {
  const history = new DecidedHistory(world);
  for (const step of each) history.take(step);
  history.checkAll();
  return history.log;
}

/** A search of a night. */
const timeout = 3_600_000;

test('deciders and read models answer as the model says, in worlds with changes of clocks, midnights and leap days', {
  timeout,
}, () => {
  let taken = 0;
  const result = fc.check(
    fc.property(worlds, eachStep, (world, each) => {
      logOf(world, each);
      taken += each.length;
    }),
    { numRuns: HISTORIES, ...seeded },
  );
  const { seed, counterexample, errorInstance } = result;
  if (result.failed)
    throw new Error(`Seed ${seed}. The shortest history found:\n\n${testOf(counterexample)}\n\n${errorInstance}`);
  recordProof({
    search: 'Histories of the rules: `RULE_HISTORIES=10000 npm run test:unit -- histories`',
    promise:
      'Deciders and read models, without a service, answer as the model says, and no fold throws or changes what it is given',
    tried: `${taken.toLocaleString('en')} steps in ${HISTORIES.toLocaleString('en')} histories`,
    seed,
  });
});

/** A history as a test that can be pasted. */
const testOf = (history: readonly [World, readonly Step[]] | null): string =>
  `test('…', () => void logOf(${history?.map((part) => JSON.stringify(part)).join(', ')}));`;

test('a log that is folded in any batches, with documents that were read back, gives the same documents', {
  timeout,
}, async () => {
  const batches = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(worlds, eachStep, batches, async (world, each, lengths) => {
      const log = logOf(world, each);
      for (const readModel of READ_MODELS) {
        const stored = storedDocuments();
        for (let from = 0, batch = 0; from < log.events.length; batch += 1) {
          const until = from + (lengths[batch % lengths.length] ?? 1);
          // A batch may be folded again, and overlap the one before.
          await foldInto(createTarget(readModel, stored), log.events.slice(Math.max(0, from - (batch % 3)), until));
          from = until;
        }
        expect(stored.all()).toEqual(new Map<string, unknown>(log.documents(readModel)));
      }
    }),
    { numRuns: HISTORIES / 10, ...seeded },
  );
});

/** Documents as a store keeps them: as JSON, each with its position, removed ones without a document. */
function storedDocuments(): Target['documents'] & { all(): ReadonlyMap<string, unknown> } {
  const stored = new Map<string, Projected<Row>>();
  return {
    async project(writes) {
      for (const write of writes)
        if ((stored.get(write.key)?.position ?? '') < write.position)
          stored.set(write.key, JSON.parse(JSON.stringify(write)));
    },
    projected: async (keys) =>
      new Map(keys.flatMap((key) => [stored.get(key)].filter((each) => each !== undefined).map((each) => [key, each]))),
    all: () => new Map([...stored].flatMap(([key, { document }]) => (document === undefined ? [] : [[key, document]]))),
  };
}

test('a release reads the events of its schema and of those before, and refuses what a later one writes', () => {
  const stored = (type: string, schema: number) => ({
    ...{ id: 'e', type, stream: 's', revision: 0, position: '1', data: {} },
    metadata: { schema },
  });
  const now = stored('SpaceClosed', SCHEMA);
  expect(knownEvent(now)).toBe(now);
  expect(isKnown(stored('SpaceClosed', SCHEMA - 1))).toBe(true);
  for (const later of [stored('SpaceClosed', SCHEMA + 1), stored('SpaceMoved', SCHEMA), stored('toString', SCHEMA)]) {
    expect(isKnown(later)).toBe(false);
    expect(() => knownEvent(later)).toThrow(UnknownEvent);
  }
});
