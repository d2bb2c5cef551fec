/** The named fields of an object. Absent ones stay absent. */
export function picked<T extends object, F extends keyof T & string>(source: T, fields: readonly F[]): Pick<T, F>;
export function picked(source: { readonly [field: string]: unknown }, fields: readonly string[]): object {
  const result: { [field: string]: unknown } = {};
  for (const field of fields) if (source[field] !== undefined) result[field] = source[field];
  return result;
}
