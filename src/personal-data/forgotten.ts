import type { DocumentStore } from '../document-store/document-store.ts';
import type { SubjectForgotten } from '../domain/events.ts';
import { knownEvent } from '../domain/known-event.ts';
import type { Subject } from '../domain/personal-text.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { compareWithLog, forgetProgress, type LogProgress } from '../record-repair/log-progress.ts';
import { destroyIn, subjectKeys } from './subject-keys.ts';

const PROGRESS: LogProgress = { name: 'subjectKeysProgress', kind: 'record', indexes: [] };

type Deps = {
  readonly events: Pick<EventStore, 'readAll' | 'lastEvent'>;
  readonly documents: Pick<DocumentStore, 'open'>;
};

/**
 * Destroys the keys of all subjects that the log records as forgotten. For a restore or an import, whose records may hold destroyed
 * keys. Call it once log and records are complete, before any process may start.
 * @returns the subjects whose keys had come back
 */
export async function destroyForgottenKeys(deps: Deps): Promise<Subject[]> {
  await forgetProgress(deps.documents, PROGRESS);
  return destroyKeysForgottenSince(deps);
}

/**
 * The same for events after the last checked position. For every start, because an operator may have restored older records with
 * the engine's own tools.
 */
export async function destroyKeysForgottenSince(deps: Deps): Promise<Subject[]> {
  const keys = await deps.documents.open(subjectKeys);
  const destroyed: Subject[] = [];
  await compareWithLog(deps, PROGRESS, ['SubjectForgotten'], async (stored) => {
    const { data, metadata } = knownEvent<SubjectForgotten>(stored);
    if ((await destroyIn(keys, data.subject, metadata.at)).isDestroyed) destroyed.push(data.subject);
  });
  return destroyed;
}
