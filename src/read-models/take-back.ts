import type { DocumentStore } from '../document-store/document-store.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { ReadModelStateStore } from './state.ts';

/**
 * Takes the position of a collection back to what is still in it. In a power failure an engine may lose the last writes to a collection
 * but not those to the positions, which came after them (docs/decisions/read-models.md). Whoever looks after it folds those
 * events again.
 */
export async function takeBackLost({
  documents,
  events,
  state,
}: {
  readonly documents: Pick<DocumentStore, 'lastWritten'>;
  readonly events: Pick<EventStore, 'readAll'>;
  readonly state: Pick<ReadModelStateStore, 'positions' | 'retreat'>;
}): Promise<void> {
  // The positions first: what they say of a healthy store has been written by then.
  const { groups } = await state.positions();
  for (const { position, events: count, written = {} } of groups) {
    for (const [collection, expected] of Object.entries(written)) {
      const last = await documents.lastWritten(collection);
      if (last === undefined || last >= expected) continue;
      let lost = 0;
      for await (const event of events.readAll({ after: last })) {
        if (event.position > position) break;
        lost += 1;
      }
      await state.retreat(collection, { position, events: count }, { position: last, events: count - lost });
    }
  }
}
