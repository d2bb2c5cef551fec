import type { Document } from 'mongodb';
import type { Stored } from '../document-store.ts';
import { EXPIRES } from './query.ts';

/** A document as stored in MongoDB. A tombstone has no `d`. */
export type Entry = {
  readonly _id: string;
  /** Version. */
  readonly v: number;
  /** Log position of the last projection. */
  readonly p?: string;
  readonly d?: Document;
  /** Identifies the last insert or replacement, to recognise one whose response was lost. */
  readonly w?: string;
  /** When the document may be removed. */
  readonly [EXPIRES]?: Date;
};

export function toStored<D extends object>({ _id: key, v: version, d }: Entry): Stored<D> | undefined {
  // A collection's name determines the type of its documents.
  return d === undefined ? undefined : { key, version, document: d as D };
}

/** The fields of an entry that depend on its document. @param ttl the document's field with its expiry, if it has one */
export function fieldsOf(document: object, ttl: string | undefined): Pick<Entry, 'd' | typeof EXPIRES> {
  const expires: unknown = Object.entries(document).find(([field]) => field === ttl)?.[1];
  return typeof expires === 'string' ? { d: document, [EXPIRES]: new Date(expires) } : { d: document };
}

/** The update that sets the document of an entry and other fields, or turns the entry into a tombstone. */
export function updateTo(document: object | undefined, ttl: string | undefined, others: Partial<Entry>): Document {
  const set = { ...others, ...(document && fieldsOf(document, ttl)) };
  const absent = ['d', EXPIRES].filter((field) => !(field in set));
  return {
    $set: set,
    ...(absent.length > 0 && { $unset: Object.fromEntries(absent.map((field) => [field, ''])) }),
    $inc: { v: 1 },
  };
}
