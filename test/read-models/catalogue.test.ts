import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  type Catalogue,
  type CatalogueEvent,
  collectionsOf,
  EMPTY,
  entriesOf,
  evolve,
  isUnreadable,
  type ReadModelId,
} from '../../src/read-models/catalogue.ts';

const IDS: readonly ReadModelId[] = ['bookings@1', 'bookings@2', 'spaces@1'];
const RETIRE_AFTER_MS = 100;

/** The possible next events, about collections that the catalogue names or once named. */
type Step = { readonly kind: number; readonly id: number; readonly of: number; readonly more: number };
const steps = fc.array(fc.record({ kind: fc.nat(8), id: fc.nat(2), of: fc.nat(30), more: fc.nat(30) }), {
  minLength: 40,
  maxLength: 80,
  size: 'max',
});

function eventOf({ kind, id: nth, of, more }: Step, catalogue: Catalogue, ever: readonly string[]): CatalogueEvent {
  const id = IDS[nth] ?? 'spaces@1';
  const pick = (names: readonly string[]) =>
    [names[of % Math.max(1, names.length)], names[more % Math.max(1, names.length)]].filter(
      (name) => name !== undefined,
    );
  const known = entriesOf(catalogue).flatMap(([, entry]) => collectionsOf(entry));
  const events: readonly CatalogueEvent[] = [
    { type: 'Claimed', id, types: [] },
    { type: 'RebuildRequested', id },
    { type: 'CaughtUp', collections: pick(known) },
    { type: 'Failed', id, failure: { collection: pick(known)[0] ?? 'none', message: 'broken' } },
    { type: 'GraceEnded', collections: pick(ever) },
    { type: 'Wanted', ids: [id], elapsedMs: of * 3, retireAfterMs: RETIRE_AFTER_MS },
    { type: 'Dropped', collections: pick(catalogue.dropping) },
    { type: 'Found', collections: [...pick(ever), 'heartbeats', 'pets@1'] },
    { type: 'Lost', collections: pick(ever) },
  ];
  return events[kind] ?? { type: 'Dropped', collections: [] };
}

describe('the catalogue, after any sequence of events', () => {
  const run = (of: readonly Step[], check: (before: Catalogue, event: CatalogueEvent, after: Catalogue) => void) => {
    let catalogue = EMPTY;
    const ever: string[] = [];
    for (const step of of) {
      const event = eventOf(step, catalogue, ever);
      const after = evolve(catalogue, event);
      check(catalogue, event, after);
      catalogue = after;
      for (const [, entry] of entriesOf(after))
        for (const name of collectionsOf(entry)) if (!ever.includes(name)) ever.push(name);
    }
  };
  const always = (check: (before: Catalogue, event: CatalogueEvent, after: Catalogue) => void) =>
    fc.assert(
      fc.property(steps, (of) => run(of, check)),
      { numRuns: 500 },
    );

  it('references each collection once, and never reuses a name', () => {
    fc.assert(
      fc.property(steps, (of) => {
        const ended = new Set<string>();
        run(of, (before, event, after) => {
          const kept = entriesOf(after).flatMap(([, entry]) => collectionsOf(entry));
          const named = [...kept, ...after.dropping];
          expect(new Set(named).size).toBe(named.length);
          for (const name of kept) expect(ended).not.toContain(name);
          for (const name of [...before.dropping, ...after.dropping]) ended.add(name);
          if (event.type === 'Lost')
            for (const [id, { live }] of entriesOf(before))
              if (live !== undefined && after.models[id]?.live !== live) ended.add(live);
          for (const [id, entry] of entriesOf(after))
            for (const name of collectionsOf(entry)) expect(name.startsWith(`${id}.`)).toBe(true);
          if (event.type !== 'Found') expect(after.dropping).not.toContain('heartbeats');
        });
      }),
      { numRuns: 500 },
    );
  });

  it('replaces a live collection only with one that has caught up, or when it is lost or its read model is retired', () => {
    always((before, event, after) => {
      for (const [id, { live, building }] of entriesOf(before)) {
        const now = after.models[id];
        if (now === undefined || now.live === live) continue;
        if (event.type === 'Lost') {
          expect(event.collections).toContain(live);
          expect(now).toMatchObject({ building: expect.any(String) });
          continue;
        }
        expect(event.type).toBe('CaughtUp');
        expect(now.live).toBe(building);
        if (live !== undefined) expect(now.retiring).toContain(live);
      }
    });
  });

  it('drops a replaced collection only after its grace period, or with the read model', () => {
    always((before, event, after) => {
      for (const [id, { retiring }] of entriesOf(before))
        for (const name of retiring) {
          if (after.models[id]?.retiring.includes(name)) continue;
          expect(['GraceEnded', 'Wanted']).toContain(event.type);
          expect(after.dropping).toContain(name);
        }
    });
  });

  it('never drops a collection that is read or written', () => {
    always((_, __, after) => {
      for (const [, entry] of entriesOf(after))
        for (const name of collectionsOf(entry)) expect(after.dropping).not.toContain(name);
    });
  });

  it('retires a read model only after it was continuously unwanted for long enough', () => {
    fc.assert(
      fc.property(steps, (of) => {
        const unwanted = new Map<ReadModelId, number>();
        run(of, (before, event, after) => {
          for (const id of IDS) {
            if (event.type === 'Wanted' && before.models[id] !== undefined)
              unwanted.set(id, event.ids.includes(id) ? 0 : (unwanted.get(id) ?? 0) + event.elapsedMs);
            if (before.models[id] === undefined || after.models[id] !== undefined) continue;
            expect(unwanted.get(id)).toBeGreaterThanOrEqual(RETIRE_AFTER_MS);
            unwanted.delete(id);
          }
        });
      }),
      { numRuns: 500 },
    );
  });

  it('clears a failure only when the failed collection catches up, or is replaced', () => {
    always((before, event, after) => {
      for (const [id, { failure, live }] of entriesOf(before)) {
        const now = after.models[id];
        if (failure === undefined || now === undefined || now.failure !== undefined || event.type === 'Lost') continue;
        expect(event.type).toBe('CaughtUp');
        const isReplaced = failure.collection === live && now.live !== live;
        if (event.type === 'CaughtUp' && !isReplaced) expect(event.collections).toContain(failure.collection);
      }
    });
  });

  it('is idempotent: repeating an event changes nothing', () => {
    always((_, event, after) => {
      // Attempts and times are cumulative.
      if (event.type !== 'Failed' && event.type !== 'Wanted' && event.type !== 'CaughtUp')
        expect(evolve(after, event)).toBe(after);
    });
  });
});

test('a failed rebuild leaves the live collection readable', () => {
  const happened: readonly CatalogueEvent[] = [
    { type: 'Claimed', id: 'bookings@1', types: [] },
    { type: 'CaughtUp', collections: ['bookings@1.1'] },
    { type: 'RebuildRequested', id: 'bookings@1' },
    { type: 'Failed', id: 'bookings@1', failure: { collection: 'bookings@1.2', message: 'broken' } },
    { type: 'Failed', id: 'bookings@1', failure: { collection: 'bookings@1.2', message: 'broken' } },
  ];
  const beside = happened.reduce(evolve, EMPTY).models['bookings@1'];
  expect(beside).toMatchObject({ live: 'bookings@1.1', building: 'bookings@1.2', failure: { attempts: 2 } });
  expect(isUnreadable(beside ?? {})).toBe(false);

  // A failure of the live collection takes precedence, and the next failure of the rebuild does not hide it.
  const live: readonly CatalogueEvent[] = [
    { type: 'Failed', id: 'bookings@1', failure: { collection: 'bookings@1.1', message: 'poison' } },
    { type: 'Failed', id: 'bookings@1', failure: { collection: 'bookings@1.2', message: 'broken' } },
  ];
  const failing = [...happened, ...live].reduce(evolve, EMPTY).models['bookings@1'];
  expect(failing).toMatchObject({ failure: { collection: 'bookings@1.1', attempts: 1 } });
  expect(isUnreadable(failing ?? {})).toBe(true);
});
