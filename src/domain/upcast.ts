import { type DomainEvent, type EventMetadata, type Recorded, SCHEMA } from './events.ts';

/** The shape in which any log hands an event out. */
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
 * Brings an event of any schema version to today's shape. The one place where stored JSON becomes a typed event.
 * @throws when the event was written by a newer version of the service than this one
 */
export function upcast(stored: UntypedEvent): Recorded<DomainEvent> {
  const event = stored as UntypedEvent & { readonly metadata: EventMetadata };
  if (event.metadata.schema > SCHEMA) {
    throw new Error(
      `Event ${event.id} (${event.type}) has schema version ${event.metadata.schema}; this build knows ${SCHEMA}`,
    );
  }
  return event as unknown as Recorded<DomainEvent>;
}
