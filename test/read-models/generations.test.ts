import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Catalogue,
  type CatalogueEvent,
  EMPTY,
  entriesOf,
  evolve,
  type GenerationId,
  generationName,
} from '../../src/read-models/generations.ts';
import { counts, trails } from '../projector/space-trails.ts';

const NAMES = ['aaaaaaaa', 'bbbbbbbb'];
const RETIRE_AFTER_MS = 100;

const steps = fc.array(fc.record({ kind: fc.nat(5), name: fc.nat(1), of: fc.nat(30) }), {
  minLength: 40,
  maxLength: 80,
  size: 'max',
});
type Step = { readonly kind: number; readonly name: number; readonly of: number };

/** The possible next events, about generations that the catalogue has or once had. */
function eventOf({ kind, name: nth, of }: Step, ever: readonly GenerationId[]): CatalogueEvent {
  const name = NAMES[nth] ?? '';
  const id = ever[of % Math.max(1, ever.length)] ?? 'none.0';
  const events: readonly CatalogueEvent[] = [
    { type: 'Begun', name },
    { type: 'CaughtUp', id },
    { type: 'Swapped', id },
    { type: 'Lost', id },
    { type: 'Dropped', id },
    { type: 'Wanted', names: [name], elapsedMs: of * 3, retireAfterMs: RETIRE_AFTER_MS },
  ];
  return events[kind] ?? { type: 'Begun', name };
}

describe('the catalogue of generations, after any sequence of events', () => {
  const always = (check: (before: Catalogue, event: CatalogueEvent, after: Catalogue) => void) =>
    fc.assert(
      fc.property(steps, (of) => {
        let catalogue = EMPTY;
        const ever: GenerationId[] = [];
        for (const step of of) {
          const event = eventOf(step, ever);
          const after = evolve(catalogue, event);
          check(catalogue, event, after);
          catalogue = after;
          for (const [id] of entriesOf(after)) if (!ever.includes(id)) ever.push(id);
        }
      }),
      { numRuns: 500 },
    );
  const count = (catalogue: Catalogue, name: string, ...states: readonly string[]) =>
    entriesOf(catalogue).filter(([, each]) => each.name === name && states.includes(each.state)).length;

  it('has at most one live generation and one build of each name', () => {
    always((_, __, after) => {
      for (const name of NAMES) {
        expect(count(after, name, 'live')).toBeLessThanOrEqual(1);
        expect(count(after, name, 'building', 'joining')).toBeLessThanOrEqual(1);
      }
    });
  });

  it('never uses an id twice', () => {
    const ended = new Set<string>();
    always((before, { type }, after) => {
      if (before === EMPTY) ended.clear();
      for (const [id] of entriesOf(before)) if (after.generations[id] === undefined) ended.add(id);
      for (const [id, { name }] of entriesOf(after)) {
        expect(ended, type).not.toContain(id);
        expect(id.startsWith(`${name}.`)).toBe(true);
      }
    });
  });

  it('replaces a live generation only with one that has caught up and that every process waits for, or when it is gone', () => {
    always((before, event, after) => {
      for (const [id, { name, state }] of entriesOf(before)) {
        if (state !== 'live' || after.generations[id]?.state === 'live') continue;
        expect(['Swapped', 'Lost', 'Wanted']).toContain(event.type);
        if (event.type !== 'Swapped') continue;
        expect(after.generations[id]?.state).toBe('retired');
        expect(before.generations[event.id]).toMatchObject({ name, state: 'joining' });
        expect(after.generations[event.id]).toMatchObject({ name, state: 'live' });
      }
    });
  });

  it('makes the first generation of a name live as soon as it has caught up', () => {
    always((before, event, after) => {
      if (event.type !== 'CaughtUp' || before.generations[event.id]?.state !== 'building') return;
      const { name = '' } = before.generations[event.id] ?? {};
      expect(after.generations[event.id]?.state).toBe(count(before, name, 'live') === 0 ? 'live' : 'joining');
    });
  });

  it('forgets a generation only after it was continuously unwanted for long enough, was dropped or is gone', () => {
    let unwanted = new Map<GenerationId, number>();
    always((before, event, after) => {
      if (before === EMPTY) unwanted = new Map();
      for (const [id, { name, state }] of entriesOf(before)) {
        if (event.type === 'Wanted')
          unwanted.set(id, event.names.includes(name) ? 0 : (unwanted.get(id) ?? 0) + event.elapsedMs);
        if (after.generations[id] !== undefined) continue;
        expect(['Wanted', 'Dropped', 'Lost']).toContain(event.type);
        if (event.type === 'Wanted') expect(unwanted.get(id)).toBeGreaterThanOrEqual(RETIRE_AFTER_MS);
        if (event.type === 'Dropped') expect(state).not.toBe('live');
      }
    });
  });

  it('is idempotent: repeating an event changes nothing', () => {
    always((_, event, after) => {
      // Times add up.
      if (event.type !== 'Wanted') expect(evolve(after, event)).toBe(after);
    });
  });
});

it('names a generation by the names and versions of its read models, in any order', () => {
  const name = generationName([trails(), counts]);
  expect(generationName([counts, trails()])).toBe(name);
  expect(generationName([counts, trails(2)])).not.toBe(name);
  expect(generationName([counts])).not.toBe(name);
});
