/** The keys of a record that is known to have no others, under their own names. */
export function keysOf<T extends object>(record: T): readonly (keyof T & string)[];
export function keysOf(record: object): readonly string[] {
  return Object.keys(record);
}
