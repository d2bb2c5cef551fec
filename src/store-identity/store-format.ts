import { UnusableStore } from '../runtime/unusable-store.ts';

/**
 * The format version of log and records. Stored in the log's first event, with the records' log id, and in the header of backups
 * and exports. A release reads only its own version, so raise it with every incompatible change.
 */
export const STORE_FORMAT = 4;

/**
 * @param what the subject of the error message: `The event log`
 * @param format the version found; undefined if there is none
 * @throws {UnusableStore} if this release cannot read it
 */
export function checkFormat(what: string, format: number | undefined): void {
  if (format === STORE_FORMAT) return;
  const has = format === undefined ? 'no store format' : `store format ${format}`;
  throw new UnusableStore(
    `${what} has ${has}; this release reads only ${STORE_FORMAT}: start the release that wrote it, ` +
      'or name an empty store with DATA_DIR, EVENTSTORE_URL or MONGODB_URL',
  );
}
