/** The same function, computing the value of each argument once. For a limited number of arguments, because none is forgotten. */
export function memoized<K, V extends {}>(compute: (key: K) => V): (key: K) => V {
  const known = new Map<K, V>();
  return (key) => {
    const value = known.get(key) ?? compute(key);
    known.set(key, value);
    return value;
  };
}
