import type { EventMetadata } from './events.ts';

/**
 * How far a stream is read: up to a moment (milliseconds since the epoch), up to a revision (inclusive), or, with neither, all of it.
 */
export type Until = { readonly asOf?: number; readonly revision?: number };

type Placed = { readonly revision: number; readonly metadata: Pick<EventMetadata, 'at'> };

/**
 * The events of a stream up to a time: those before the first later one. A clock may be set back, so a later event of the stream can have
 * an earlier time; the order of the stream decides (docs/decisions/accounts.md).
 */
export async function* until<E extends Placed>(
  events: AsyncIterable<E> | Iterable<E>,
  { asOf, revision }: Until,
): AsyncGenerator<E> {
  for await (const event of events) {
    if (asOf !== undefined && Date.parse(event.metadata.at) > asOf) return;
    if (revision !== undefined && event.revision > revision) return;
    yield event;
  }
}
