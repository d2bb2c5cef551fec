import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns } from '../../src/http/turns.ts';

/** Responses of one caller that wait for their turns, and those that have started. */
function ask(count: number) {
  const turns = createTurns(2);
  const answers = Array.from({ length: count }, () => new PassThrough());
  const begun: number[] = [];
  for (const [i, answer] of answers.entries())
    void turns.take('caller', answer).then((isOpen) => isOpen && begun.push(i));
  return { answers, begun };
}

test('serves up to the allowed number of responses at once, in order of request', async () => {
  const { answers, begun } = ask(5);
  await nextTurn();
  expect(begun).toEqual([0, 1]);
  for (let i = 0; i < 3; i += 1) {
    answers[i]?.resume().end();
    await nextTurn();
    await nextTurn();
    expect(begun).toHaveLength(3 + i);
  }
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test('when responses end together, none of them starts because another ended', async () => {
  const { answers, begun } = ask(100);
  await nextTurn();
  for (const answer of answers.slice(0, 99)) answer.destroy();
  await nextTurn();
  await nextTurn();
  expect(begun).toEqual([0, 1, 99]);
});

test('a response that takes many turns has one listener', async () => {
  const turns = createTurns(2);
  const answer = new PassThrough();
  const before = answer.listenerCount('close');
  for (let i = 0; i < 20; i += 1) {
    const end = await turns.take('caller', answer);
    expect(answer.listenerCount('close')).toBe(before + 1);
    end?.();
  }
  expect(answer.listenerCount('close')).toBe(before);
});
