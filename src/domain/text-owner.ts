import type { DomainEvent } from './events.ts';
import { ownerOf, type SealedText } from './personal-text.ts';

/** Whether a field of `D` may hold a personal text. */
type HasText<D> = true extends { [F in keyof D]-?: SealedText extends D[F] ? true : false }[keyof D] ? true : false;

/** The events without personal texts. */
export type WithoutText<E extends DomainEvent = DomainEvent> = E extends DomainEvent
  ? HasText<E['data']> extends true
    ? never
    : E
  : never;

/**
 * The owner of the personal texts of an event (see {@link ownerOf}); undefined if it cannot hold any. Exhaustive: a new event with a text
 * does not compile without its line.
 */
export function textOwnerOf(event: DomainEvent): string | undefined {
  switch (event.type) {
    case 'BookingRequested':
    case 'BookingCancelled':
    case 'BookingMoveAsked':
    case 'BookingMoveEnded':
    case 'BookingMoved':
      return ownerOf.booking(event.data);
    case 'ReviewPosted':
    case 'ReviewAnswered':
      return ownerOf.review(event.data);
    case 'TimeClosed':
    case 'ClosureAdded':
      return ownerOf.closure(event.data);
    case 'SpaceDescribed':
    case 'SpacePhotosChanged':
      return ownerOf.space(event.data);
    case 'CommunityDescribed':
    case 'CommunityPhotosChanged':
      return ownerOf.community(event.data);
    case 'CustomerDescribed':
      return ownerOf.customer(event.data);
    case 'MessageSent':
    case 'BookingNoted':
      return ownerOf.thread(event.data);
    case 'QuestionSent':
      return ownerOf.question(event.data);
    case 'BrandSuspended':
      return ownerOf.brand(event.data);
    default:
      event satisfies WithoutText;
      return undefined;
  }
}
