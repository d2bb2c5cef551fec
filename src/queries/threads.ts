import { type BookingNoteDocument, bookingNotes } from '../../projections/booking-notes.ts';
import type { BookingDocument } from '../../projections/bookings.ts';
import { type MessageDocument, messages, type ReadableMessage } from '../../projections/messages.ts';
import { type ThreadDocument, threads } from '../../projections/threads.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account, AccountKind } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type BookingId, type Timestamp, bookingId as toBookingId } from '../domain/ids.ts';
import type { Opened } from '../domain/personal-text.ts';
import type { NamedActor } from '../domain/shown-actor.ts';
import { isUnread, type ReadMarks } from '../domain/thread.ts';
import { ownedBy } from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { BRAND, COMMUNITY } from './samples.ts';

/** A note as its community reads it. */
export type ReadableNote = Omit<Opened<BookingNoteDocument>, 'by'> & { readonly by: NamedActor };

type OfBooking = Pick<BookingDocument, 'bookingId' | 'communityId'>;

/** How long a message that was not opened counts as unread, in milliseconds: 30 days. Later its booking still shows it. */
export const UNREAD_FOR_MS = 30 * 86_400_000;
/** Bookings that are looked at for unread messages, because every page shows their number. */
export const LOOKED_AT = 100;

const ofBooking = declareQuery(
  messages,
  (booking: BookingId): Find<MessageDocument> => ({ where: { bookingId: booking }, sort: [{ field: 'revision' }] }),
  [toBookingId(1)],
);

const oneOf = declareQuery(
  messages,
  (booking: BookingId, revision: number): Find<MessageDocument> => ({
    where: { bookingId: booking, revision },
    limit: 1,
  }),
  [toBookingId(1), 0],
);

const notesOf = declareQuery(
  bookingNotes,
  (booking: BookingId): Find<BookingNoteDocument> => ({ where: { bookingId: booking }, sort: [{ field: 'revision' }] }),
  [toBookingId(1)],
);

export const otherKind = ({ kind }: Account): AccountKind => (kind === 'Brand' ? 'Community' : 'Brand');

const lastOfOthers = declareQuery(
  threads,
  (account: Account, since: Timestamp): Find<ThreadDocument> => ({
    where: { ...ownedBy(account), from: otherKind(account), at: { above: since } },
    sort: [{ field: 'at', direction: 'descending' }],
    limit: LOOKED_AT,
  }),
  [COMMUNITY, toTimestamp(0)],
  [BRAND, toTimestamp(0)],
);

/** Messages about bookings, for both parties, and the notes of the community, which no brand sees. */
export function createThreadQueries({ readModels, personalData, names, clock }: QueryDeps) {
  return {
    /** The messages of a booking, which the caller has found visible, the newest last. */
    async ofBooking({ bookingId }: OfBooking): Promise<readonly ReadableMessage[]> {
      return personalData.openThreads(await readModels.collection(messages).list(ofBooking(bookingId)));
    },

    /** A message of a booking, which the caller has found visible, under its place in the stream. */
    async message({ bookingId }: OfBooking, revision: number): Promise<ReadableMessage | undefined> {
      const stored = await readModels.collection(messages).list(oneOf(bookingId, revision));
      const [message] = await personalData.openThreads(stored);
      return message;
    },

    /** The notes of a community about a booking of it, the newest last. None for a brand. */
    async notesOf(account: Account, { bookingId, communityId }: OfBooking): Promise<readonly ReadableNote[]> {
      if (account.kind !== 'Community' || account.id !== communityId) return [];
      const notes = await personalData.openThreads(await readModels.collection(bookingNotes).list(notesOf(bookingId)));
      const nameOf = names.for(account);
      return Promise.all(notes.map(async (note) => ({ ...note, by: await nameOf(note.by) })));
    },

    /**
     * The bookings of an account with an unread message, the latest first: the other party wrote last, and the user has not opened it. Among
     * the latest {@link LOOKED_AT} of {@link UNREAD_FOR_MS}.
     */
    async unread(account: Account, read: ReadMarks): Promise<readonly BookingId[]> {
      const since = toTimestamp(clock() - UNREAD_FOR_MS);
      const found = await readModels.collection(threads).list(lastOfOthers(account, since));
      return found.filter((last) => isUnread(last, last.bookingId, account, read)).map(({ bookingId }) => bookingId);
    },
  };
}
