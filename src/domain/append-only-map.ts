/**
 * An immutable map that grows. Adding an entry takes constant time, because a map shares its entries with the map made from it. Only a
 * second map made from the same one copies them.
 */
export class AppendOnlyMap<K, V> {
  /** Shared with larger maps; this one has the first `size` entries. */
  readonly #shared: Map<K, { readonly index: number; readonly value: V }>;
  readonly size: number;

  private constructor(shared: Map<K, { readonly index: number; readonly value: V }>, size: number) {
    this.#shared = shared;
    this.size = size;
  }

  static empty<K, V>(): AppendOnlyMap<K, V> {
    return new AppendOnlyMap<K, V>(new Map(), 0);
  }

  get(key: K): V | undefined {
    const entry = this.#shared.get(key);
    return entry !== undefined && entry.index < this.size ? entry.value : undefined;
  }

  has(key: K): boolean {
    const entry = this.#shared.get(key);
    return entry !== undefined && entry.index < this.size;
  }

  /** The map with one more entry. A key that it has already keeps its value. */
  with(key: K, value: V): AppendOnlyMap<K, V> {
    if (this.has(key)) return this;
    // Never share entries with the empty map: the empty state of every stream is one object, which lives forever.
    const isLatest = this.size > 0 && this.#shared.size === this.size;
    const shared = isLatest ? this.#shared : new Map(this.#shared.entries().take(this.size));
    shared.set(key, { index: this.size, value });
    return new AppendOnlyMap(shared, this.size + 1);
  }
}
