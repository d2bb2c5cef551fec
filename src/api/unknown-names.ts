import { isObject } from '../domain/is-object.ts';

/** The longest name that an answer repeats, in characters. */
const REPEATED_NAME = 100;

/** The names that a JSON Schema of an object has; none without a schema. */
export const namesIn = (schema: unknown): readonly string[] =>
  isObject(schema) && isObject(schema.properties) ? Object.keys(schema.properties) : [];

/** Says that a request names what its path does not take, and what it takes. @param what such as `query parameter` */
export function unknownName(what: string, name: string, taken: readonly string[]): string {
  const named = name.length > REPEATED_NAME ? `A ${what}` : `The ${what} ${name}`;
  return `${named} is unknown: this path takes ${taken.length === 0 ? `no ${what}s` : taken.join(', ')}`;
}
