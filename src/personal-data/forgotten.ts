import type { DocumentStore } from '../document-store/document-store.ts';
import type { DomainEvent, SubjectForgotten } from '../domain/events.ts';
import { type Subject, subjectOfUser } from '../domain/personal-text.ts';
import { isKnown, upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { destroyIn, subjectKeys } from './subject-keys.ts';
import { writtenIn } from './written.ts';

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

/** Events between two reports of how far it is: a second or two. */
const PROGRESS_EVERY = 100_000;

/** The kinds of events that hold personal texts. */
const TYPES: readonly DomainEvent['type'][] = ['BookingRequested', 'BookingCancelled', 'ReviewPosted'];

/**
 * Counts the events that hold texts of a subject in plain, because a release before this one stored them. No key erases those.
 * @param onProgress is called now and then with how many events have been looked at
 */
export async function countPlainTexts(
  events: Pick<EventStore, 'readAll'>,
  subject: Subject,
  onProgress: (looked: number) => void,
): Promise<number> {
  let looked = 0;
  let count = 0;
  for await (const stored of events.readAll({ types: TYPES })) {
    looked += 1;
    if (looked % PROGRESS_EVERY === 0) onProgress(looked);
    if (!isKnown(stored)) continue;
    const event = upcast(stored);
    const { actor } = event.metadata;
    const author = actor.kind === 'user' ? subjectOfUser(actor.id) : undefined;
    if (writtenIn(event, author)?.subject === subject) count += 1;
  }
  return count;
}
