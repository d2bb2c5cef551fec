import { type Account, brandOf, communityOf } from '../domain/account.ts';
import { PERSONAL_DETAILS } from '../domain/booking-details.ts';
import type { BookingFacts, CancelledBy } from '../domain/booking-events.ts';
import { CUSTOMER_TEXTS } from '../domain/customer-details.ts';
import { HOUSE_TEXTS, SPACE_TEXTS } from '../domain/description.ts';
import type { DomainEvent, MessageSent, QuestionSent } from '../domain/events.ts';
import { ownerOf, type PersonalText, type Subject, subjectOf, type Texts } from '../domain/personal-text.ts';
import { altsIn } from '../domain/photos.ts';
import { picked } from '../domain/picked.ts';
import type { WithoutText } from '../domain/text-owner.ts';

/** The plain texts of an event written by a person, with their subject and owner. */
export type Written = { readonly subject: Subject; readonly of: string; readonly texts: Texts };

/**
 * The texts that a person wrote in a decided event, before it is stored. Undefined if there are none; texts by the service itself
 * have no author (docs/decisions/personal-data.md).
 * @param author the user who wrote the reason or the title; default: the account
 */
export function writtenIn(event: DomainEvent, author: Subject | undefined): Written | undefined {
  switch (event.type) {
    case 'BookingRequested': {
      const texts = picked(event.data, PERSONAL_DETAILS);
      return written(subjectOf(brandOf(event.data)), ownerOf.booking(event.data), texts);
    }
    case 'BookingCancelled':
      return writtenReason(event.data, event.data.cancelledBy, author);
    case 'BookingMoveAsked':
      return writtenReason(event.data, event.data.askedBy, author);
    case 'BookingMoveEnded':
      return writtenReason(event.data, event.data.endedBy, author);
    // What the brand wrote stays in the request.
    case 'BookingMoved':
      return undefined;
    case 'ReviewPosted': {
      const { title, content } = event.data;
      return written(subjectOf(brandOf(event.data)), ownerOf.review(event.data), { title, content });
    }
    case 'ReviewAnswered':
      return written(subjectOf(communityOf(event.data)), ownerOf.review(event.data), { answer: event.data.answer });
    case 'TimeClosed':
    case 'ClosureAdded': {
      const { title } = event.data;
      return written(author ?? subjectOf(communityOf(event.data)), ownerOf.closure(event.data), { title });
    }
    // Published in the name of the community, so they stay when the user who wrote them leaves.
    case 'SpaceDescribed':
      return written(subjectOf(communityOf(event.data)), ownerOf.space(event.data), textsIn(event.data, SPACE_TEXTS));
    case 'CommunityDescribed':
      return written(
        subjectOf(communityOf(event.data)),
        ownerOf.community(event.data),
        textsIn(event.data, HOUSE_TEXTS),
      );
    case 'SpacePhotosChanged':
      return written(subjectOf(communityOf(event.data)), ownerOf.space(event.data), altsIn(event.data));
    case 'CommunityPhotosChanged':
      return written(subjectOf(communityOf(event.data)), ownerOf.community(event.data), altsIn(event.data));
    // About the brand, so erasing it erases them.
    case 'CustomerDescribed':
      return written(subjectOf(brandOf(event.data)), ownerOf.customer(event.data), textsIn(event.data, CUSTOMER_TEXTS));
    case 'MessageSent':
      return written(subjectOf(writerOf(event.data)), ownerOf.thread(event.data), { text: event.data.text });
    case 'QuestionSent':
      return written(subjectOf(writerOf(event.data)), ownerOf.question(event.data), { text: event.data.text });
    // About the brand, so erasing it erases them.
    case 'BookingNoted':
      return written(subjectOf(brandOf(event.data)), ownerOf.thread(event.data), { note: event.data.note });
    case 'BrandSuspended':
      return written(subjectOf(brandOf(event.data)), ownerOf.brand(event.data), { reason: event.data.reason });
    default:
      event satisfies WithoutText;
      return undefined;
  }
}

/** The party that wrote a message. */
const writerOf = (data: MessageSent['data'] | QuestionSent['data']): Account =>
  data.from === 'Brand' ? brandOf(data) : communityOf(data);

/** The reason that a party gave. */
function writtenReason(
  data: BookingFacts & { readonly reason?: PersonalText },
  by: CancelledBy,
  author: Subject | undefined,
): Written | undefined {
  if (by === 'System') return undefined;
  const account = by === 'Brand' ? brandOf(data) : communityOf(data);
  return written(author ?? subjectOf(account), ownerOf.booking(data), { reason: data.reason });
}

const textsIn = <F extends string>(data: { readonly [field in F]?: PersonalText | null }, fields: readonly F[]) =>
  Object.fromEntries(fields.map((field) => [field, data[field] ?? undefined]));

function written(
  subject: Subject,
  of: string,
  fields: { readonly [field: string]: PersonalText | undefined },
): Written | undefined {
  const texts = Object.entries(fields).filter((field): field is [string, string] => typeof field[1] === 'string');
  return texts.length === 0 ? undefined : { subject, of, texts: Object.fromEntries(texts) };
}
