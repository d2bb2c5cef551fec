import { MongoBulkWriteError, MongoServerError } from 'mongodb';

const DUPLICATE_KEY = 11_000;

export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/**
 * The operations of an unordered bulk write that tried to insert an existing key; the others were applied. Only for read models:
 * they have no unique indexes, so every duplicate is a key.
 * @throws the error itself, if it has another cause
 */
export function existingKeys(error: unknown): readonly number[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const errors = [error.writeErrors].flat();
  const onlyKeys = errors.every(({ code }) => code === DUPLICATE_KEY);
  if (!onlyKeys || errors.length === 0 || error.result.getWriteConcernError() !== undefined) throw error;
  return errors.map(({ index }) => index);
}
