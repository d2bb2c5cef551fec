import { expect } from 'vitest';
import { type Decision, isRefusal, type RefusalCode } from '../../src/domain/decision.ts';
import type { DomainEvent } from '../../src/domain/events.ts';

type Evolve<S, E> = (state: S, event: E) => S;

/**
 * The vocabulary of decider tests: `given(events).when(decide).thenEvents(events)` or `.thenRefused(code)`.
 * @param initial the state before any event
 */
export const decider =
  <S, E extends DomainEvent>(initial: S, evolve: Evolve<S, E>) =>
  (...events: readonly E[]) => ({
    when(decide: (state: S) => Decision<E>) {
      const decision = decide(events.reduce(evolve, initial));
      return {
        decision,
        thenEvents(...expected: readonly object[]) {
          expect(decision).toMatchObject(expected);
          expect(decision).toHaveLength(expected.length);
        },
        thenNothing() {
          expect(decision).toEqual([]);
        },
        thenRefused(code: RefusalCode, details: RegExp = /./) {
          expect(isRefusal(decision)).toBe(true);
          expect(decision).toMatchObject({ refused: code, details: expect.stringMatching(details) });
        },
      };
    },
  });
