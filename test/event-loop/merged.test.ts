import { describe, expect, it } from 'vitest';
import { merged } from '../../src/event-loop/merged.ts';

type Item = { readonly at: number; readonly from: string };

const byPlace = (a: Item, b: Item) => a.at - b.at;

/** A source of streams that counts the reads of each, and knows which of them are closed. */
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
  it('yields items in order across the streams', async () => {
    const { stream } = sources();
    const streams = [stream('a', [1, 4, 9]), stream('b', [2, 3, 10]), stream('c', [5])];
    expect(await placesOf(merged(streams, byPlace))).toEqual([1, 2, 3, 4, 5, 9, 10]);
  });

  it('follows the requested order', async () => {
    const { stream } = sources();
    const streams = [stream('a', [9, 4, 1]), stream('b', [10, 3, 2])];
    expect(await placesOf(merged(streams, (a, b) => byPlace(b, a)))).toEqual([10, 9, 4, 3, 2, 1]);
  });

  it('yields an item of several streams once, from the first stream that has it', async () => {
    const { stream } = sources();
    const streams = [stream('a', [3, 7]), stream('b', [1, 3, 5, 7]), stream('c', [1, 3])];
    expect(await Array.fromAsync(merged(streams, byPlace), ({ at, from }) => `${at}${from}`)).toEqual([
      '1b',
      '3a',
      '5b',
      '7a',
    ]);
  });

  it('continues when a stream is empty or ends early', async () => {
    const { stream } = sources();
    expect(await placesOf(merged([stream('a', []), stream('b', [1]), stream('c', [2, 3])], byPlace))).toEqual([
      1, 2, 3,
    ]);
    expect(await placesOf(merged([], byPlace))).toEqual([]);
  });

  it('closes all streams when the reader stops, without reading further ahead', async () => {
    const { stream, read, closed } = sources();
    for await (const { at } of merged([stream('a', [1, 2, 6]), stream('b', [4, 5]), stream('c', [3])], byPlace))
      if (at === 2) break;
    expect(closed.toSorted()).toEqual(['a', 'b', 'c']);
    expect(read).toEqual({ a: 2, b: 1, c: 1 });
  });

  it.each([
    ['at once', 0],
    ['later', 2],
  ])('fails with a stream that fails %s, and closes the others', async (_, failsAfter) => {
    const { stream, closed } = sources();
    const streams = [stream('a', [1, 4]), stream('b', [2, 3, 5], failsAfter), stream('c', [6, 7])];
    await expect(placesOf(merged(streams, byPlace))).rejects.toThrow('b is broken');
    expect(closed.toSorted()).toEqual(['a', 'b', 'c']);
  });
});
