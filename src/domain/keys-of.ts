/** The keys of a record, typed by its own names. The record must have no others. */
export function keysOf<T extends object>(record: T): readonly (keyof T & string)[];
export function keysOf(record: object): readonly string[] {
  return Object.keys(record);
}
