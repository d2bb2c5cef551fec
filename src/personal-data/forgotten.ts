import type { DocumentStore } from '../document-store/document-store.ts';
import type { SubjectForgotten } from '../domain/events.ts';
import type { Subject } from '../domain/personal-text.ts';
import { upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { destroyIn, subjectKeys } from './subject-keys.ts';

/**
 * Destroys the keys of all subjects that the log says were forgotten. For a restore or an import, which bring records back from a
 * copy. Call it once log and records are there, and before any process may start.
 * @returns the subjects whose keys were there again
 */
export async function destroyForgottenKeys(deps: {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly documents: Pick<DocumentStore, 'open'>;
}): Promise<Subject[]> {
  const keys = await deps.documents.open(subjectKeys);
  const destroyed: Subject[] = [];
  for await (const stored of deps.events.readAll({ types: ['SubjectForgotten'] })) {
    const { data, metadata } = upcast<SubjectForgotten>(stored);
    if ((await destroyIn(keys, data.subject, metadata.at)).isDestroyed) destroyed.push(data.subject);
  }
  return destroyed;
}
