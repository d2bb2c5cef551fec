/** Half of a surrogate pair is no character: no encoding can hold it. Phrased to follow the name of a field. */
export const UNICODE_RULE = 'must be Unicode text: it has half of a surrogate pair';

/**
 * Finds text in a JSON value that is not Unicode: a sentence without a full stop that names the field; undefined if there is none. Field
 * names count too, and wrong ones are not repeated.
 * @param field the name of the value; of a list, that of the list
 */
export function unicodeProblem(value: unknown, field: string): string | undefined {
  // Not recursive: the caller decides how deep the value is, and could overflow the stack.
  const pending: [field: string, value: unknown][] = [[field, value]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [name, held] = next;
    if (typeof held === 'string' && !held.isWellFormed()) return `${name} ${UNICODE_RULE}`;
    if (typeof held !== 'object' || held === null) continue;
    for (const [key, inside] of Object.entries(held)) {
      if (!key.isWellFormed()) return `A name in ${name} ${UNICODE_RULE}`;
      pending.push([Array.isArray(held) ? name : key, inside]);
    }
  }
  return undefined;
}
