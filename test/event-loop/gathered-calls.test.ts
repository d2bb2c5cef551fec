import { expect, test } from 'vitest';
import { gatherCalls } from '../../src/event-loop/gathered-calls.ts';

/** A store whose reads wait until they are released. */
function slowStore() {
  const reads: { readonly keys: readonly string[]; readonly answer: PromiseWithResolvers<Map<string, string>> }[] = [];
  const get = gatherCalls<string, string>((keys) => {
    const answer = Promise.withResolvers<Map<string, string>>();
    reads.push({ keys, answer });
    return answer.promise;
  });
  const answer = (read: number, ...found: [string, string][]) => reads[read]?.answer.resolve(new Map(found));
  return { reads, get, answer };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('requests that arrive during a read are combined into the next read, each key once', async () => {
  const { reads, get, answer } = slowStore();
  const first = get('a');
  await turn();
  const [same, other, missing] = [get('a'), get('b'), get('c')];
  expect(reads.map(({ keys }) => keys)).toEqual([['a']]);
  answer(0, ['a', 'before']);
  expect(await first).toBe('before');
  await turn();
  // The first read may have seen the state before the second request.
  expect(reads.map(({ keys }) => keys)).toEqual([['a'], ['a', 'b', 'c']]);
  answer(1, ['a', 'after'], ['b', 'b']);
  expect(await Promise.all([same, other, missing])).toEqual(['after', 'b', undefined]);
  await turn();
  void get('d');
  void get('e');
  await turn();
  expect(reads.at(-1)?.keys).toEqual(['d', 'e']);
});

test('a failed read rejects the requests it served, and no later ones', async () => {
  const { reads, get, answer } = slowStore();
  const failing = get('a');
  await turn();
  const next = get('b');
  reads[0]?.answer.reject(new Error('unreachable'));
  await expect(failing).rejects.toThrow('unreachable');
  await turn();
  answer(1, ['b', 'b']);
  expect(await next).toBe('b');
});

test('a hanging read does not block others', async () => {
  const { get, answer, reads } = slowStore();
  void get('stuck');
  await turn();
  const next = get('b');
  await expect.poll(() => reads.length).toBe(2);
  answer(1, ['b', 'b']);
  expect(await next).toBe('b');
});

test('requests that arrive during the rest after a call are combined into the next call', async () => {
  const calls: (readonly string[])[] = [];
  const get = gatherCalls<string, string>(
    async (keys) => {
      calls.push(keys);
      return new Map();
    },
    { restMs: (keys) => keys * 300 },
  );
  await get('a');
  const later = [get('b')];
  await turn();
  await turn();
  later.push(get('c'));
  await Promise.all(later);
  expect(calls).toEqual([['a'], ['b', 'c']]);
});
