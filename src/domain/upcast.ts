import { type DomainEvent, type EventMetadata, type Recorded, SCHEMA } from './events.ts';

/** An event as any log returns it, before its type is known. */
export type UntypedEvent = {
  readonly id: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly data: unknown;
  readonly metadata: unknown;
};

/**
 * Brings an event of any schema version to the current shape. The only place where stored JSON becomes a typed event.
 * @template E the events of its stream, where the caller knows which those are
 * @throws when a newer version of the service wrote the event
 */
export function upcast<E extends DomainEvent = DomainEvent>(stored: UntypedEvent): Recorded<E> {
  const event = stored as UntypedEvent & { readonly metadata: EventMetadata };
  if (event.metadata.schema > SCHEMA) {
    throw new Error(
      `Event ${event.id} (${event.type}) has schema version ${event.metadata.schema}; this build knows ${SCHEMA}`,
    );
  }
  return event as unknown as Recorded<E>;
}
