/** Whether a value is an object with fields: neither null nor an array. */
export const isObject = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
