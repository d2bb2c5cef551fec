import type { AnyProjection } from '../../projections/projection.ts';
import { streamOf } from '../domain/streams.ts';
import { upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';

/** The ids of the events that an operator has excluded from a read model (docs/decisions/read-models.md). */
export async function readSkippedEvents(
  events: Pick<EventStore, 'readStream'>,
  { name, version }: Pick<AnyProjection, 'name' | 'version'>,
): Promise<ReadonlySet<string>> {
  const skipped = new Set<string>();
  for await (const stored of events.readStream(streamOf.readModel(name))) {
    const event = upcast(stored);
    if (event.type === 'ProjectionEventSkipped' && event.data.version === version) skipped.add(event.data.eventId);
  }
  return skipped;
}

/** Whether an event is skipped. Checks the size first: the set is nearly always empty, and a lookup makes V8 internalise the id. */
export const isSkipped = (skipped: ReadonlySet<string>, { id }: { readonly id: string }): boolean =>
  skipped.size > 0 && skipped.has(id);
