import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { type EventStore, LOG_START, logEnd, type Position, type StoredEvent } from '../event-store/event-store.ts';

/**
 * The position up to which records have been compared with the log. Stored with those records, so that an older copy of them holds
 * an older position.
 */
export type LogProgress = Collection<{ readonly position: Position }>;
const KEY = 'log';

/** Passes on the events of these types that the records have not been compared with, and stores the new position. */
export async function compareWithLog(
  {
    events,
    documents,
  }: { readonly events: Pick<EventStore, 'readAll' | 'lastEvent'>; readonly documents: Pick<DocumentStore, 'open'> },
  record: LogProgress,
  types: readonly string[],
  compare: (event: StoredEvent) => Promise<void>,
): Promise<void> {
  const progress = await documents.open(record);
  const after = (await progress.get(KEY))?.document.position ?? LOG_START;
  const end = await logEnd(events);
  if (end <= after) return;
  for await (const event of events.readAll({ after, types })) await compare(event);
  // Keep the position of another process that is further ahead.
  await progress.update(KEY, (now) => ((now?.position ?? LOG_START) >= end ? undefined : { position: end }));
}

/** The next comparison then begins at the start of the log, which may have been replaced. */
export async function forgetProgress(documents: Pick<DocumentStore, 'open'>, record: LogProgress): Promise<void> {
  await (await documents.open(record)).delete(KEY);
}
