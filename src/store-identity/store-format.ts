import { UnusableStore } from '../runtime/unusable-store.ts';

/**
 * The format version of log and records. Stored in the log's first event, with the records' log id, and in the header of backups
 * and exports. A release reads only its own version, so raise it with every incompatible change.
 */
export const STORE_FORMAT = 3;

/**
 * @param what the subject of the error message: `The event log`
 * @param format the version found; undefined for stores from before the first release
 * @throws {UnusableStore} if this release cannot read it
 */
export function checkFormat(what: string, format: number | undefined): void {
  if (format === STORE_FORMAT) return;
  const elsewhere = 'name an empty store with DATA_DIR, EVENTSTORE_URL or MONGODB_URL';
  throw new UnusableStore(
    format === undefined
      ? `${what} was stored before the first release, without a format number. This release reads only store format ${STORE_FORMAT}: ${elsewhere}`
      : `${what} has store format ${format}; this release reads only ${STORE_FORMAT}: start the release that wrote it, or ${elsewhere}`,
  );
}
