/** Which page of an ordered list. The first one without a cursor. */
export type PageRequest<C> = {
  readonly limit: number;
  readonly after?: C | undefined;
  /** Takes precedence over `after`. */
  readonly before?: C | undefined;
};

/** Where a read begins: after a cursor, in the order of the list or backwards. */
export type Beginning<C> = { readonly isBackwards: boolean; readonly after: C | undefined; readonly limit: number };

type Page<T, C> = {
  readonly items: readonly T[];
  /** The cursor before which the previous page ends. Undefined on the first page. */
  readonly previous: C | undefined;
  /** The cursor after which the next page begins. Undefined on the last page. */
  readonly next: C | undefined;
};

/** Reads a page of an ordered list, and one item more, which shows whether another page follows. */
export async function readPage<T, C>(
  { limit, after, before }: PageRequest<C>,
  cursorOf: (item: T) => C,
  read: (beginning: Beginning<C>) => AsyncIterable<T>,
): Promise<Page<T, C>> {
  const isBackwards = before !== undefined;
  const collected: T[] = [];
  for await (const item of read({ isBackwards, after: before ?? after, limit: limit + 1 })) {
    collected.push(item);
    if (collected.length > limit) break;
  }
  const hasMore = collected.length > limit;
  // A page read backwards that reaches the beginning may be short, and the last page may have become empty: read the first page.
  if (isBackwards ? !hasMore : after !== undefined && collected.length === 0)
    return readPage({ limit }, cursorOf, read);
  const items = collected.slice(0, limit);
  if (isBackwards) items.reverse();
  const [first, last] = [items[0], items.at(-1)];
  return {
    items,
    previous: first && (isBackwards || after !== undefined) ? cursorOf(first) : undefined,
    next: last && (isBackwards || hasMore) ? cursorOf(last) : undefined,
  };
}

/** Where to read in a list that shows the newest first: beyond which values of the field that it is sorted by, and in which direction. */
export const newestFirst = <C extends string | number>({ isBackwards = false, after }: Partial<Beginning<C>>) => ({
  beyond: after === undefined ? undefined : isBackwards ? { above: after } : { below: after },
  direction: isBackwards ? ('ascending' as const) : ('descending' as const),
});
