/**
 * Merges sorted streams. Of equal items, only the one from the first stream is returned. Reads at most one item ahead of each
 * stream, and closes all streams at the end, also when the reader stops early or a stream throws.
 * @param compare negative if the first argument comes first, 0 if both are the same item
 */
export async function* merged<T>(
  streams: readonly AsyncGenerator<T>[],
  compare: (a: T, b: T) => number,
): AsyncGenerator<T> {
  try {
    const heads = await Promise.all(streams.map(async (stream) => ({ stream, next: await stream.next() })));
    for (;;) {
      let first: { readonly value: T } | undefined;
      for (const { next } of heads)
        if (!next.done && (first === undefined || compare(next.value, first.value) < 0)) first = next;
      if (first === undefined) return;
      yield first.value;
      for (const head of heads)
        if (!head.next.done && compare(head.next.value, first.value) === 0) head.next = await head.stream.next();
    }
  } finally {
    await Promise.all(streams.map((stream) => stream.return(undefined)));
  }
}
