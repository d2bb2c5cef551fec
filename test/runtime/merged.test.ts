import { describe, expect, it } from 'vitest';
import { merged } from '../../src/runtime/merged.ts';

type Item = { readonly at: number; readonly from: string };

const byPlace = (a: Item, b: Item) => a.at - b.at;

/** A source of streams that counts what was read of each, and knows which of them are closed. */
function sources() {
  const read: Record<string, number> = {};
  const closed: string[] = [];
  async function* stream(from: string, places: readonly number[], failsAfter = Number.POSITIVE_INFINITY) {
    try {
      for (const [index, at] of places.entries()) {
        if (index === failsAfter) throw new Error(`${from} is broken`);
        read[from] = index + 1;
        yield { at, from };
      }
    } finally {
      closed.push(from);
    }
  }
  return { stream, read, closed };
}

const placesOf = async (stream: AsyncIterable<Item>) => Array.fromAsync(stream, ({ at }) => at);

describe('streams merged into one', () => {
  it('are in order, whichever of them an item is from', async () => {
    const { stream } = sources();
    const streams = [stream('a', [1, 4, 9]), stream('b', [2, 3, 10]), stream('c', [5])];
    expect(await placesOf(merged(streams, byPlace))).toEqual([1, 2, 3, 4, 5, 9, 10]);
  });

  it('follow the order that is asked for', async () => {
    const { stream } = sources();
    const streams = [stream('a', [9, 4, 1]), stream('b', [10, 3, 2])];
    expect(await placesOf(merged(streams, (a, b) => byPlace(b, a)))).toEqual([10, 9, 4, 3, 2, 1]);
  });

  it('have what is in several of them once, from the first that has it', async () => {
    const { stream } = sources();
    const streams = [stream('a', [3, 7]), stream('b', [1, 3, 5, 7]), stream('c', [1, 3])];
    expect(await Array.fromAsync(merged(streams, byPlace), ({ at, from }) => `${at}${from}`)).toEqual([
      '1b',
      '3a',
      '5b',
      '7a',
    ]);
  });

  it('go on when one of them is empty or ends before the others', async () => {
    const { stream } = sources();
    expect(await placesOf(merged([stream('a', []), stream('b', [1]), stream('c', [2, 3])], byPlace))).toEqual([
      1, 2, 3,
    ]);
    expect(await placesOf(merged([], byPlace))).toEqual([]);
  });

  it('are all closed by a reader who stops, and not read beyond what it saw', async () => {
    const { stream, read, closed } = sources();
    for await (const { at } of merged([stream('a', [1, 2, 6]), stream('b', [4, 5]), stream('c', [3])], byPlace))
      if (at === 2) break;
    expect(closed.toSorted()).toEqual(['a', 'b', 'c']);
    expect(read).toEqual({ a: 2, b: 1, c: 1 });
  });

  it.each([
    ['at once', 0],
    ['later', 2],
  ])('fail with one that fails %s, and the others are closed', async (_, failsAfter) => {
    const { stream, closed } = sources();
    const streams = [stream('a', [1, 4]), stream('b', [2, 3, 5], failsAfter), stream('c', [6, 7])];
    await expect(placesOf(merged(streams, byPlace))).rejects.toThrow('b is broken');
    expect(closed.toSorted()).toEqual(['a', 'b', 'c']);
  });
});
