import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { DocumentStore, OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import type { Recorded } from '../../src/domain/events.ts';
import { createTarget, fold, foldInto, type Target } from '../../src/projector/fold.ts';
import { collectionOf } from '../../src/read-models/generations.ts';
import { ask } from '../document-store/ask.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { counts, inMemory, recorded, SPACE_EVENTS, trails } from './space-trails.ts';

const GENERATION = 'abcdef01.1';

describe.each(documentEngines)('fold on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let stores: OperatedDocumentStore[];
  let run = 0;

  beforeEach(async () => {
    database = await createDatabase();
    stores = [await database.open(), await database.open()];
  });
  afterEach(() => database.remove());

  const log = fc
    .array(fc.record({ space: fc.nat(4), type: fc.constantFrom(...SPACE_EVENTS) }), { minLength: 1, maxLength: 40 })
    .map((happenings) => recorded(happenings));

  /** A projector’s pass over the log: where each batch starts, its length, its process, and whether the cache is lost. */
  const steps = fc.array(
    fc.record({ from: fc.nat(39), length: fc.integer({ min: 1, max: 15 }), process: fc.nat(1), forgets: fc.boolean() }),
    { maxLength: 8 },
  );

  const targetsIn = async (store: DocumentStore, prefix: string): Promise<Target[]> => [
    createTarget(trails(), await store.open<Row>(collectionOf({ ...trails(), name: `${prefix}-trails` }, GENERATION))),
    createTarget(counts, await store.open<Row>(collectionOf({ ...counts, name: `${prefix}-counts` }, GENERATION))),
  ];
  const foldAll = (targets: readonly Target[], events: readonly Recorded[]) =>
    Promise.all(targets.map((target) => foldInto(target, events)));
  /** Continues the work of another process: forgets what it knows, and reads the checkpoint. */
  const takeOver = async (
    store: OperatedDocumentStore | undefined,
    targets: readonly Target[] = [],
  ): Promise<Target[]> => {
    await store?.checkpoints();
    return targets.map(({ projection, documents }) => createTarget(projection, documents));
  };

  async function expectToHold(store: DocumentStore, prefix: string, events: readonly Recorded[]): Promise<void> {
    const found = async (name: string) => {
      const documents = await store.open<Row>(collectionOf({ name: `${prefix}-${name}`, indexes: [] }, GENERATION));
      const all = await Array.fromAsync(documents.find(ask()));
      return new Map(all.map(({ key, document }) => [key, document]));
    };
    expect(await found('trails')).toEqual(inMemory(events, trails()));
    expect(await found('counts')).toEqual(inMemory(events, counts));
  }

  it('produces the same documents when the log is split, repeated, overlapped or distributed in any way', async () => {
    await fc.assert(
      fc.asyncProperty(log, steps, fc.boolean(), async (events, passes, together) => {
        const prefix = `run${run++}`;
        const targets = await Promise.all(stores.map((store) => targetsIn(store, prefix)));
        const until = [0, 0];
        let reached = 0;
        const work: Promise<unknown>[] = [];
        for (const { from, length, process, forgets } of passes) {
          // A projector may go back but never skips events.
          const start = Math.min(from, reached);
          // A process that continues the work of another must not rely on its own cache.
          if (forgets || start > (until[process] ?? 0))
            targets[process] = await takeOver(stores[process], targets[process]);
          until[process] = Math.min(start + length, events.length);
          const pass = foldAll(targets[process] ?? [], events.slice(start, start + length));
          if (together && start + length <= reached) work.push(pass);
          else await pass;
          reached = Math.max(reached, Math.min(start + length, events.length));
        }
        await Promise.all(work);
        await foldAll(await takeOver(stores[0], targets[0]), events.slice(reached));
        for (const store of stores) await expectToHold(store, prefix, events);
      }),
      { numRuns: 25 },
    );
  });

  it('produces the same documents when two processes fold everything concurrently', async () => {
    await fc.assert(
      fc.asyncProperty(
        log,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 9 }),
        async (events, one, other) => {
          const prefix = `run${run++}`;
          const pass = async (store: DocumentStore, size: number) => {
            const targets = await targetsIn(store, prefix);
            for (let i = 0; i < events.length; i += size) await foldAll(targets, events.slice(i, i + size));
          };
          const [first, second] = stores;
          if (first === undefined || second === undefined) throw new Error('There are two stores');
          await Promise.all([pass(first, one), pass(second, other)]);
          await expectToHold(first, prefix, events);
          await expectToHold(second, prefix, events);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('gives other work of the process a turn during a long batch', async () => {
    const slow: AnyProjection = trails();
    const evolve: typeof slow.evolve = (document, event) => {
      for (const end = performance.now() + 0.2; performance.now() < end; );
      return slow.evolve(document, event);
    };
    // Without the turns of a read.
    const documents = { projected: async () => new Map(), project: async () => {} };
    const target = createTarget({ ...slow, evolve }, documents);
    const happenings = Array.from({ length: 640 }, (_, n) => ({ space: n % 5, type: 'SpaceAdded' as const }));
    let turns = 0;
    let isFolding = true;
    const countTurns = () => {
      turns += 1;
      if (isFolding) setImmediate(countTurns);
    };
    const folding = fold([target], recorded(happenings)).finally(() => {
      isFolding = false;
    });
    setImmediate(countTurns);
    await folding;
    expect(turns).toBeGreaterThanOrEqual(9);
  });

  it('keeps projecting the other collections when one is unreadable', async () => {
    const [store] = stores;
    if (store === undefined) throw new Error('There are two stores');
    const [first, second] = await targetsIn(store, 'unreadable');
    if (first === undefined || second === undefined) throw new Error('There are two targets');
    const projected = () => Promise.reject(new Error('The page is damaged'));
    const damaged: Target = { ...second, documents: { ...second.documents, projected } };
    const failures = [...(await fold([damaged, first], recorded([{ space: 1, type: 'SpaceAdded' }])))];
    expect(failures).toEqual([[damaged, expect.objectContaining({ event: undefined })]]);
    expect(String(failures[0]?.[1])).toMatch(/Projection counts failed to read or write .* The page is damaged/);
    expect([first.changed.size, damaged.changed.size]).toEqual([1, 0]);
  });

  it('changes nothing in a batch for a projection that throws, and everything for the others', async () => {
    const [store] = stores;
    if (store === undefined) throw new Error('There are two stores');
    const targets = await targetsIn(store, 'broken');
    const broken: Target[] = targets.map((target) => ({
      ...target,
      projection: {
        ...target.projection,
        evolve: (document, event) => {
          if (target.projection.name === 'counts' && event.revision === 1) throw new Error('cannot');
          return target.projection.evolve(document, event);
        },
      },
    }));
    const events = recorded([
      { space: 1, type: 'SpaceAdded' },
      { space: 1, type: 'SpaceChanged' },
    ]);
    const failures = [...(await fold(broken, events))];
    expect(failures).toEqual([
      [broken[1], expect.objectContaining({ event: expect.objectContaining({ id: 'event-1' }) })],
    ]);
    expect(String(failures[0]?.[1])).toMatch(/Projection counts failed on SpaceChanged .* cannot/);
    expect(broken.map(({ changed }) => changed.size)).toEqual([1, 0]);
    await foldAll(targets, events);
    await expectToHold(store, 'broken', events);
  });
});
