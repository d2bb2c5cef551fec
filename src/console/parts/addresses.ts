/** What a page is asked for, as fields of its address. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** The fields that have a value, as the query of an address, without a question mark. */
export const queryOf = (fields: Fields): string =>
  new URLSearchParams(Object.entries(fields).flatMap(([name, value]) => (value ? [[name, value]] : []))).toString();

/** The address of a page with the fields that have a value. */
export function addressOf(path: string, fields: Fields): string {
  const query = queryOf(fields);
  return query === '' ? path : `${path}?${query}`;
}
