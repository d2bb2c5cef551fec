/**
 * An immutable map that grows. Adding an entry takes the same time however many there are, because a map and the one made of it share
 * their entries. Only the second map that is made of the same one has to copy them.
 */
export class AppendOnlyMap<K, V> {
  /** Also holds the entries of larger maps; those of this one are the first `size`. */
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
    // What is added to the empty map is never shared: the empty state of every stream is one object, which lives forever.
    const isLatest = this.size > 0 && this.#shared.size === this.size;
    const shared = isLatest ? this.#shared : new Map(this.#shared.entries().take(this.size));
    shared.set(key, { index: this.size, value });
    return new AppendOnlyMap(shared, this.size + 1);
  }
}
