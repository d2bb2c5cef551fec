import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { violationsIn } from './check.ts';
import { type Operation, type Seen, spaceDays, type Terms } from './space-day.ts';

const DAY = '1 2027-01-31';
const TERMS: Terms = { windowStart: 9, windowEnd: 15, durationHours: 2, gapHours: 0 };
const SPECIFICATION = spaceDays(() => TERMS);

/** An operation from one moment to another. */
const at = (calledAt: number, answeredAt: number, seen: Seen): Operation => ({
  ...seen,
  spaceDay: DAY,
  by: '',
  calledAt,
  answeredAt,
});
const request = (booking: string, hour: number, answer: 'accepted' | 'refused' | undefined = 'accepted') =>
  ({ do: 'request', booking, hour, answer }) as const;
const decide = (
  what: 'approve' | 'decline' | 'cancel',
  booking: string,
  answer: 'accepted' | 'refused' | undefined = 'accepted',
) => ({ do: what, booking, answer }) as const;
const shows = (booking: string, answer: 'Pending' | 'Approved' | 'Cancelled' | 'absent') =>
  ({ do: 'read', booking, answer }) as const;
const open = (...answer: number[]) => ({ do: 'availability', answer }) as const;
const ALL = [9, 10, 11, 12, 13, 14];
const NEVER = Number.POSITIVE_INFINITY;

const isLegal = (...history: Operation[]): boolean => violationsIn(SPECIFICATION, history).length === 0;

describe('histories that cannot have happened', () => {
  test.each<[string, ...Operation[]]>([
    ['a lost write', at(1, 2, request('a', 9)), at(3, 4, shows('a', 'absent'))],
    ['a lost write, found by a command', at(1, 2, request('a', 9)), at(3, 4, request('b', 9))],
    ['two bookings that overlap', at(1, 9, request('a', 9)), at(2, 8, request('b', 10))],
    [
      'two approved bookings that overlap',
      at(1, 9, request('a', 9)),
      at(2, 9, request('b', 10)),
      at(10, 11, decide('approve', 'a')),
      at(10, 11, decide('approve', 'b')),
    ],
    ['an hour that is refused but free', at(1, 2, request('a', 9)), at(3, 4, request('b', 11, 'refused'))],
    [
      'two answers to one request',
      at(1, 2, request('a', 9)),
      at(3, 9, decide('approve', 'a')),
      at(4, 9, decide('decline', 'a')),
    ],
    ['availability that is stale after the answer to a booking', at(1, 2, request('a', 9)), at(3, 4, open(...ALL))],
    [
      'availability that shows a booking before it was called',
      at(1, 2, open(11, 12, 13, 14)),
      at(3, 4, request('a', 9)),
    ],
    [
      'a read that goes back in time',
      at(1, 9, request('a', 9)),
      at(2, 3, shows('a', 'Pending')),
      at(4, 5, shows('a', 'absent')),
    ],
    ['hours that go back in time', at(1, 9, request('a', 9)), at(2, 3, open(11, 12, 13, 14)), at(4, 5, open(...ALL))],
    [
      'a command that does not know what was shown',
      at(1, NEVER, request('a', 9, undefined)),
      at(2, 3, shows('a', 'Pending')),
      at(4, 5, request('b', 9)),
    ],
    ['a repeated request that is refused', at(1, 2, request('a', 9)), at(3, 4, request('a', 9, 'refused'))],
    [
      'a repeated request that books twice',
      at(1, 2, request('a', 9)),
      at(3, 4, decide('decline', 'a')),
      at(5, 6, request('a', 9)),
      at(7, 8, open(11, 12, 13, 14)),
    ],
    [
      'an unknown request that happened and did not',
      at(1, NEVER, request('a', 9, undefined)),
      at(2, 3, request('b', 9, 'refused')),
      at(4, 5, request('c', 9)),
    ],
    [
      'a slow booking that is never shown',
      at(1, 2_500, request('a', 9)),
      { ...at(3_000, 3_001, shows('a', 'absent')), isSettled: true },
    ],
  ])('%s', (_, ...history) => {
    expect(isLegal(...history)).toBe(false);
  });
});

describe('legal histories', () => {
  test.each<[string, ...Operation[]]>([
    ['commands at once, in the other order', at(1, 9, request('a', 9, 'refused')), at(2, 8, request('b', 9))],
    [
      'an unknown request that did not happen',
      at(1, NEVER, request('a', 9, undefined)),
      at(2, 3, request('b', 9)),
      at(4, 5, shows('a', 'absent')),
    ],
    [
      'an unknown request that happened later',
      at(1, NEVER, request('a', 9, undefined)),
      at(2, 3, open(...ALL)),
      at(4, 5, request('b', 10, 'refused')),
      at(6, 7, open(11, 12, 13, 14)),
    ],
    [
      'an unknown request that had no effect when it was called',
      at(1, 2, request('a', 9)),
      at(3, NEVER, request('b', 10, undefined)),
      at(4, 5, decide('decline', 'a')),
      at(6, 7, open(12, 13, 14)),
    ],
    [
      'a request that was repeated after an unknown one',
      at(1, NEVER, request('a', 9, undefined)),
      at(2, 3, request('a', 9)),
      at(4, 5, shows('a', 'Pending')),
    ],
    [
      'a refusal before the read model shows its reason',
      at(1, 9, request('a', 9)),
      at(2, 3, request('b', 9, 'refused')),
      at(4, 5, open(...ALL)),
    ],
    [
      'hours that lag behind a list',
      at(1, 9, request('a', 9)),
      at(2, 3, shows('a', 'Pending')),
      at(4, 5, open(...ALL)),
    ],
    [
      'a booking that was answered before the read models showed it',
      at(1, 2_500, request('a', 9)),
      at(3_000, 3_001, shows('a', 'absent')),
    ],
    [
      'one key for two hours at once, of which the later call was first',
      at(1, 4, request('b', 13)),
      at(2, 4, request('b', 9)),
      at(5, 6, request('a', 14)),
    ],
    [
      'an end that frees the hours',
      at(1, 2, request('a', 13)),
      at(3, 4, decide('approve', 'a')),
      at(5, 6, decide('cancel', 'a')),
      at(7, 8, request('b', 14)),
    ],
  ])('%s', (_, ...history) => {
    expect(violationsIn(SPECIFICATION, history)).toEqual([]);
  });

  test('days do not depend on each other', () => {
    const other = { ...at(3, 4, request('b', 9)), spaceDay: '1 2027-02-01' };
    expect(isLegal(at(1, 2, request('a', 9)), other)).toBe(true);
  });

  test('the gap is kept free, and the last hours end with the window', () => {
    const gap = spaceDays(() => ({ ...TERMS, gapHours: 1 }));
    const seen = [
      at(1, 2, request('a', 9)),
      at(3, 4, request('b', 11, 'refused')),
      at(5, 6, request('c', 14)),
      at(7, 8, open()),
    ];
    expect(violationsIn(gap, seen)).toEqual([]);
  });
});

describe('random days', () => {
  const names = fc.constantFrom('a', 'b', 'c', 'd');
  const steps = fc.oneof(
    fc.record({ do: fc.constant('request' as const), booking: names, hour: fc.constantFrom(8, 9, 10, 12, 13, 14, 15) }),
    fc.record({ do: fc.constantFrom('approve' as const, 'decline' as const, 'cancel' as const), booking: names }),
    fc.record({ do: fc.constant('read' as const), booking: names }),
    fc.constant({ do: 'availability' as const }),
  );
  type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;

  /** What was seen, one call after another: the one answer of each that is possible. */
  const played = (taken: readonly Step[]): readonly Operation[] => {
    let day = SPECIFICATION.initial;
    return taken.map((step, index) => {
      const possible = answersTo(step).flatMap((seen) => {
        const operation = at(index, index + 0.5, seen);
        const after = SPECIFICATION.step(day, operation);
        return after === undefined ? [] : [{ operation, after }];
      });
      const [one, ...others] = possible;
      if (one === undefined || others.length > 0)
        throw new Error(`${possible.length} answers to ${JSON.stringify(step)}`);
      day = one.after;
      return one.operation;
    });
  };
  const answersTo = (step: Step): readonly Seen[] => {
    if (step.do === 'read')
      return (['Pending', 'Approved', 'Cancelled', 'absent'] as const).map((answer) => ({ ...step, answer }));
    if (step.do !== 'availability') return (['accepted', 'refused'] as const).map((answer) => ({ ...step, answer }));
    const sets = Array.from({ length: 2 ** ALL.length }, (_, bits) =>
      ALL.filter((_hour, index) => bits & (1 << index)),
    );
    return sets.map((answer) => ({ ...step, answer }));
  };

  test('can have happened, however the calls overlap', () => {
    const spans = fc.array(fc.tuple(fc.nat(3), fc.nat(3)), { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 20 }), spans, (taken, widths) => {
        const seen = played(taken).map((each, index) => {
          const [early, late] = widths[index] ?? [0, 0];
          return { ...each, calledAt: each.calledAt - early, answeredAt: each.answeredAt + late };
        });
        expect(isLegal(...seen)).toBe(true);
      }),
    );
  });

  test('cannot have happened with another answer', () => {
    fc.assert(
      fc.property(fc.array(steps, { minLength: 1, maxLength: 20 }), fc.nat(), fc.nat(), (taken, which, other) => {
        const seen = [...played(taken)];
        const index = which % seen.length;
        const [step, right] = [taken[index], seen[index]];
        if (step === undefined || right === undefined) return;
        const wrong = answersTo(step).filter(({ answer }) => JSON.stringify(answer) !== JSON.stringify(right.answer));
        const answered = wrong[other % wrong.length];
        if (answered !== undefined) seen[index] = at(right.calledAt, right.answeredAt, answered);
        expect(isLegal(...seen)).toBe(false);
      }),
    );
  });
});
