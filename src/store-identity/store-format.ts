import { UnusableStore } from '../runtime/unusable-store.ts';

/**
 * Number of the format in which log and records are stored. The log has it in its first event, the records beside the id of their
 * log, a backup and an export in their header. A release reads only its own: raise it when a store of before cannot be read.
 */
export const STORE_FORMAT = 1;

/**
 * @param what what was found, as a sentence begins: `The event log`
 * @param format the number that it has; undefined for what was stored before the first release
 * @throws {UnusableStore} if it is not the one that this release reads
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
