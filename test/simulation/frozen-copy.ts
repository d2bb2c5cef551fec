/** A copy as an engine would store and return it, which readers share: a reader that changes it fails. */
export const frozenCopy = <T>(value: T): T => freeze(JSON.parse(JSON.stringify(value)));

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value)) freeze(each);
  return Object.freeze(value);
}
