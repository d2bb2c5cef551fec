import { keysOf } from './keys-of.ts';
import type { Subject } from './personal-text.ts';

/** Names of the streams: one per consistency boundary (docs/decisions/event-log.md). */
export const streamOf = {
  /** Holds nothing but the id of the log. */
  log: 'log',
  spaceDay: (spaceId: number, date: string) => `spaceDay-${spaceId}-${date}`,
  community: (id: number) => `community-${id}`,
  space: (id: number) => `space-${id}`,
  brand: (id: number) => `brand-${id}`,
  review: (bookingId: number) => `review-${bookingId}`,
  apiKey: (id: string) => `apiKey-${id}`,
  webhook: (id: string) => `webhook-${id}`,
  /** A user: the accounts that the user acts for, and the apps that the user connected. */
  member: (userId: string) => `member-${userId}`,
  /** An OAuth client that belongs to an account. */
  oauthClient: (id: string) => `oauthClient-${id}`,
  subject: (subject: Subject) => `subject-${subject}`,
  readModel: (name: string) => `readModel-${name}`,
  sequence: (name: string) => `sequence-${name}`,
  /** A closed time or an own event of a community, as it was asked for. */
  venue_closure: (id: string) => `venue_closure-${id}`,
  /** The calendar feeds of a user, of all accounts: together they have a limit. */
  venue_feeds: (userId: string) => `venue_feeds-${userId}`,
  venue_invitation: (id: string) => `venue_invitation-${id}`,
  /** What a community has decided about a brand. */
  venue_admission: (communityId: number, brandId: number) => `venue_admission-${communityId}-${brandId}`,
  /** What a community keeps about a brand that is its customer. */
  venue_customer: (communityId: number, brandId: number) => `venue_customer-${communityId}-${brandId}`,
  /** What the parties of a booking write to each other, and the notes of its community. */
  venue_thread: (bookingId: number) => `venue_thread-${bookingId}`,
  /** What a brand asks about a space before a booking, and the answers. */
  venue_question: (spaceId: number, brandId: number) => `venue_question-${spaceId}-${brandId}`,
};

/** The kinds of streams: their names up to the first hyphen. */
export const STREAM_KINDS: readonly string[] = keysOf(streamOf);

/**
 * The form of kinds added after this release. Every release counts them as its own, even unknown ones, so that all seal the same log
 * (docs/decisions/eventstoredb.md).
 */
export const LATER_STREAM_KINDS = /^venue_[A-Za-z]+$/;
