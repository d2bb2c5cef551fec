import type { AnyProjection } from '../../projections/projection.ts';
import type { Recorded } from '../domain/events.ts';
import { knownEvent } from '../domain/known-event.ts';
import { streamOf } from '../domain/streams.ts';
import type { EventStore } from '../event-store/event-store.ts';

/** The events by which an operator has excluded events from a read model (docs/decisions/read-models.md). */
export async function* skippings(
  events: Pick<EventStore, 'readStream'>,
  { name, version }: Pick<AnyProjection, 'name' | 'version'>,
): AsyncGenerator<Extract<Recorded, { readonly type: 'ProjectionEventSkipped' }>> {
  for await (const stored of events.readStream(streamOf.readModel(name))) {
    const event = knownEvent(stored);
    if (event.type === 'ProjectionEventSkipped' && event.data.version === version) yield event;
  }
}

/** The ids of the excluded events. */
export const readSkippedEvents = async (...of: Parameters<typeof skippings>): Promise<ReadonlySet<string>> =>
  new Set(await Array.fromAsync(skippings(...of), ({ data }) => data.eventId));

/** Whether an event is skipped. Checks the size first: the set is nearly always empty, and a lookup makes V8 internalise the id. */
export const isSkipped = (skipped: ReadonlySet<string>, { id }: { readonly id: string }): boolean =>
  skipped.size > 0 && skipped.has(id);
