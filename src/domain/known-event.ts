import { isEventType } from './event-types.ts';
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

/** An event that this release does not know, because a newer one wrote it. */
export class UnknownEvent extends Error {
  /** The public message, as for anything temporarily unavailable. */
  readonly publicMessage = 'A newer release of the service has changed this, and only that release can go on with it';
}

/** Whether this release knows the event. */
export function isKnown({ type, metadata }: UntypedEvent): boolean {
  const { schema } = metadata as EventMetadata;
  return isEventType(type) && schema <= SCHEMA;
}

/**
 * An event that this release knows. The only place where stored JSON becomes a typed event: a release that changes the shape of events
 * converts those of the shape before here.
 * @template E the events of its stream, where the caller knows which those are
 * @throws {UnknownEvent} if a newer release wrote the event: a decision needs the whole state
 */
export function knownEvent<E extends DomainEvent = DomainEvent>(stored: UntypedEvent): Recorded<E> {
  if (!isKnown(stored)) {
    const { schema } = stored.metadata as EventMetadata;
    throw new UnknownEvent(
      `Event ${stored.id} (${stored.type}, schema version ${schema}) is newer than this build, which knows version ${SCHEMA}`,
    );
  }
  return stored as unknown as Recorded<E>;
}
