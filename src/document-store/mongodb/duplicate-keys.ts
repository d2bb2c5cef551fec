import { MongoBulkWriteError, MongoServerError } from 'mongodb';

const DUPLICATE_KEY = 11_000;

export const isDuplicate = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/**
 * Which of the operations of an unordered bulk write tried to insert a key that already exists; the others were applied. Only for
 * read models, which have no unique indexes: there, every duplicate is that of a key.
 * @throws the error itself, if it is about anything else
 */
export function existingKeys(error: unknown): readonly number[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const errors = [error.writeErrors].flat();
  const onlyKeys = errors.every(({ code }) => code === DUPLICATE_KEY);
  if (!onlyKeys || errors.length === 0 || error.result.getWriteConcernError() !== undefined) throw error;
  return errors.map(({ index }) => index);
}
