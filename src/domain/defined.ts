/** `T` without the fields that are undefined. */
export type Defined<T extends object> = {
  [F in keyof T as undefined extends T[F] ? never : F]: T[F];
} & {
  [F in keyof T as undefined extends T[F] ? F : never]?: Exclude<T[F], undefined>;
};

/**
 * The same fields without those that are undefined. An absent field and one that is `undefined` are two things to the compiler
 * (`exactOptionalPropertyTypes`), to an event store and to whoever compares documents; this is the one way from the second to
 * the first.
 * @example defined({ status, reason: text === '' ? undefined : text })
 */
export function defined<T extends object>(fields: T): Defined<T>;
export function defined(fields: { readonly [field: string]: unknown }): object {
  const kept: { [field: string]: unknown } = {};
  for (const field of Object.keys(fields)) if (fields[field] !== undefined) kept[field] = fields[field];
  return kept;
}
