import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import type { SubjectForgotten } from '../domain/events.ts';
import type { Subject } from '../domain/personal-text.ts';
import { upcast } from '../domain/upcast.ts';
import { type EventStore, LOG_START, logEnd, type Position } from '../event-store/event-store.ts';
import { destroyIn, subjectKeys } from './subject-keys.ts';

/**
 * The log position up to which keys of forgotten subjects have been destroyed. Stored with the keys, so that a copy has both or
 * neither.
 */
type Progress = { readonly position: Position };
const PROGRESS: Collection<Progress> = { name: 'subjectKeysProgress', kind: 'record', indexes: [] };
const PROGRESS_KEY = 'log';

type Deps = {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly documents: Pick<DocumentStore, 'open'>;
};

/**
 * Destroys the keys of all subjects that the log records as forgotten. For a restore or an import, whose records may hold destroyed
 * keys. Call it once log and records are complete, before any process may start.
 * @returns the subjects whose keys had come back
 */
export async function destroyForgottenKeys(deps: Deps): Promise<Subject[]> {
  await (await deps.documents.open(PROGRESS)).delete(PROGRESS_KEY);
  return destroyAfter(deps, LOG_START);
}

/**
 * The same for events after the last checked position. For every start, because an operator may have restored older records with
 * the engine's own tools.
 */
export async function destroyKeysForgottenSince(deps: Deps): Promise<Subject[]> {
  const progress = await deps.documents.open(PROGRESS);
  const after = (await progress.get(PROGRESS_KEY))?.document.position ?? LOG_START;
  const end = await logEnd(deps.events);
  if (end === after) return [];
  const destroyed = await destroyAfter(deps, after);
  await progress.update(PROGRESS_KEY, (now) => ((now?.position ?? LOG_START) >= end ? undefined : { position: end }));
  return destroyed;
}

async function destroyAfter({ events, documents }: Deps, after: Position): Promise<Subject[]> {
  const keys = await documents.open(subjectKeys);
  const destroyed: Subject[] = [];
  for await (const stored of events.readAll({ after, types: ['SubjectForgotten'] })) {
    const { data, metadata } = upcast<SubjectForgotten>(stored);
    if ((await destroyIn(keys, data.subject, metadata.at)).isDestroyed) destroyed.push(data.subject);
  }
  return destroyed;
}
