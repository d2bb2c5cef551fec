/** `T` without the fields that are undefined. */
export type Defined<T extends object> = {
  [F in keyof T as undefined extends T[F] ? never : F]: T[F];
} & {
  [F in keyof T as undefined extends T[F] ? F : never]?: Exclude<T[F], undefined>;
};

/**
 * The same fields without those that are undefined. The compiler (`exactOptionalPropertyTypes`), the event store and
 * comparisons of documents tell an absent field from an undefined one; this turns the second into the first.
 * @example defined({ status, reason: text === '' ? undefined : text })
 */
export function defined<T extends object>(fields: T): Defined<T>;
export function defined(fields: { readonly [field: string]: unknown }): object {
  const result: { [field: string]: unknown } = {};
  for (const field of Object.keys(fields)) if (fields[field] !== undefined) result[field] = fields[field];
  return result;
}
