import { describe, expect, test } from 'vitest';
import { timestamp } from '../../src/domain/ids.ts';
import {
  afterAttempts,
  dueCorrected,
  dueIn,
  endedEarly,
  isDueTrusted,
  type Outcome,
  type Progress,
  RETENTION_MS,
  restarted,
  untried,
} from '../../src/outbox/progress.ts';
import { inTurns } from '../../src/outbox/turns.ts';

const NOW = Date.parse('2026-12-01T12:00:00Z');
const at = (ms: number) => timestamp(new Date(NOW + ms).toISOString());
type State = 'Pending' | 'Sent' | 'Failed';
type Sent = Progress<State, { readonly number: number }>;
const pending: Sent = untried(NOW, 5_000);

test('something new is due at once, and kept for as long as it was said', () => {
  expect(pending).toEqual({
    ...{ state: 'Pending', due: at(0), tries: 0, attempts: [], createdAt: at(0), expiresAt: at(5_000) },
  });
  expect(dueIn(30, NOW)).toEqual({ due: at(30), delayMs: 30 });
  expect(RETENTION_MS).toBe(30 * 24 * 60 * 60 * 1_000);
});

describe('after attempts', () => {
  const LATER = NOW + 1_000;
  const progressAfter = (record: Sent, outcome: Outcome<State>, attempts = [{ number: 9 }]) =>
    afterAttempts(record, attempts, outcome, { now: LATER, kept: 2 });
  const attempts = [{ number: 9 }];
  const end = { due: at(1_000), expiresAt: at(1_000 + RETENTION_MS), attempts };

  test.each<[string, Partial<Sent>, Outcome<State>, Partial<Sent>]>([
    ['sent', {}, { state: 'Sent' }, { ...end, state: 'Sent', tries: 1 }],
    ['sent at last', { tries: 3, delayMs: 5 }, { state: 'Sent' }, { ...end, state: 'Sent', tries: 4 }],
    ['failed for good', {}, { state: 'Failed', reason: 'Gone' }, { ...end, state: 'Failed', reason: 'Gone', tries: 1 }],
    ['to be tried again', {}, { state: 'Pending', delay: 50 }, { attempts, due: at(1_050), delayMs: 50, tries: 1 }],
    ['no try', {}, { state: 'Pending', delay: 50, isTry: false }, { attempts, due: at(1_050), delayMs: 50, tries: 0 }],
    ['a try', {}, { state: 'Pending', delay: 50, isTry: true }, { attempts, due: at(1_050), delayMs: 50, tries: 1 }],
    // Another process ended it meanwhile.
    [
      'sent after its end',
      { state: 'Failed', reason: 'Removed' },
      { state: 'Sent' },
      { ...end, state: 'Sent', tries: 1 },
    ],
    ['failed after its end', { state: 'Failed', reason: 'Removed' }, { state: 'Failed', reason: 'Gone' }, { attempts }],
    ['to be tried after its end', { state: 'Failed' }, { state: 'Pending', delay: 50 }, { attempts }],
  ])('%s', (_, fields, outcome, expected) => {
    const { reason, ...before } = { ...pending, ...fields };
    const keeps = !('state' in expected) && reason !== undefined;
    expect(progressAfter({ ...before, ...(reason !== undefined && { reason }) }, outcome)).toEqual({
      ...before,
      ...(keeps && { reason }),
      ...expected,
    });
  });

  test('only the last ones are kept', () => {
    const numbers = (...each: readonly number[]) => each.map((number) => ({ number }));
    const record = { ...pending, attempts: numbers(1, 2) };
    expect(progressAfter(record, { state: 'Sent' }, numbers(3)).attempts).toEqual(numbers(2, 3));
    expect(progressAfter(record, { state: 'Sent' }, numbers(3, 4, 5)).attempts).toEqual(numbers(4, 5));
  });
});

test('it ends early only while it is pending', () => {
  const how = { state: 'Failed', reason: 'Removed' } as const;
  const end = { due: at(1_000), expiresAt: at(1_000 + RETENTION_MS) };
  expect(endedEarly(pending, how, NOW + 1_000)).toEqual({ ...pending, ...how, ...end });
  expect(endedEarly({ ...pending, state: 'Sent' }, how, NOW)).toBeUndefined();
});

test('it starts again with a full schedule, from any state', () => {
  const ended: Sent = { ...pending, state: 'Failed', reason: 'Gone', delayMs: 7, tries: 10, attempts: [{ number: 1 }] };
  expect(restarted(ended, at(2_000), NOW + 2_000, 5_000)).toEqual({
    ...pending,
    ...{ attempts: [{ number: 1 }], due: at(2_000), expiresAt: at(7_000) },
  });
  expect(ended).toMatchObject({ reason: 'Gone', delayMs: 7 });
});

test('a due time further ahead than its delay comes from a wrong clock', () => {
  const dueAt = (ms: number, delayMs?: number): Sent => ({
    ...pending,
    due: at(ms),
    ...(delayMs !== undefined && { delayMs }),
  });
  expect(
    [dueAt(1_000), dueAt(1_001), dueAt(6_000, 5_000), dueAt(6_001, 5_000), dueAt(-9_000)].map((each) =>
      isDueTrusted(each, NOW),
    ),
  ).toEqual([...[true, false, true, false, true]]);
  expect(dueCorrected(dueAt(6_001, 5_000), NOW)).toEqual({ ...pending, delayMs: 5_000, due: at(0) });
  expect(dueCorrected(dueAt(6_000, 5_000), NOW)).toBeUndefined();
  expect(dueCorrected({ ...dueAt(6_001, 5_000), state: 'Sent' }, NOW)).toBeUndefined();
});

test('each group has its turn, and its order stays', () => {
  const inOrder = inTurns(['a1', 'a2', 'a3', 'b1', 'c1', 'c2'], (item) => item.slice(0, 1));
  expect(inOrder).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
});
