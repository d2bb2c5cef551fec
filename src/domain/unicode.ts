/** Half of a surrogate pair is no character: no encoding can hold it. Phrased to follow the name of a field. */
const UNICODE_RULE = 'must be Unicode text: it has half of a surrogate pair';
/** Receivers that store JSON in PostgreSQL refuse this character (its `jsonb` cannot hold it). */
const NUL_RULE = 'must not have the character U+0000';

/** The rule for every text that a client sends; undefined if the text keeps it. */
export function textRule(text: string): string | undefined {
  if (!text.isWellFormed()) return UNICODE_RULE;
  return text.includes('\0') ? NUL_RULE : undefined;
}

/**
 * The longest text that is read at all, in UTF-16 code units; no field takes more. Patterns and searches meet no longer text, so it is enough
 * that they are linear (docs/decisions/rest-api.md#texts-from-outside).
 */
export const LONGEST_TEXT = 10_000;

const outsideTextRule = (text: string): string | undefined =>
  text.length > LONGEST_TEXT ? `must have at most ${LONGEST_TEXT} characters` : textRule(text);

/**
 * Finds text in a value from outside that is too long for any field or breaks {@link textRule}: a sentence without a full stop that names the
 * field; undefined if there is none. Field names count too, and wrong ones are not repeated.
 * @param field the name of the value; of a list, that of the list
 */
export function textProblem(value: unknown, field: string): string | undefined {
  // Not recursive: the caller decides how deep the value is, and could overflow the stack.
  const pending: [field: string, value: unknown][] = [[field, value]];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [name, inner] = next;
    const broken = typeof inner === 'string' ? outsideTextRule(inner) : undefined;
    if (broken !== undefined) return `${name} ${broken}`;
    // The bytes of a file are no texts, and each would be a property.
    if (typeof inner !== 'object' || inner === null || ArrayBuffer.isView(inner)) continue;
    for (const [key, inside] of Object.entries(inner)) {
      const brokenName = outsideTextRule(key);
      if (brokenName !== undefined) return `A name in ${name} ${brokenName}`;
      pending.push([Array.isArray(inner) ? name : key, inside]);
    }
  }
  return undefined;
}

/** The code of {@link UnusableText}. */
export const UNUSABLE_TEXT = 'UNUSABLE_TEXT';

/** A request with a text that no field takes. Its message goes to the client. */
export class UnusableText extends Error {
  readonly code = UNUSABLE_TEXT;
  readonly statusCode = 400;
}
