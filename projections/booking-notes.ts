import type { Actor } from '../src/domain/account.ts';
import type { BookingNoted } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

/** What a community wrote down about a booking, for itself. */
export type BookingNoteDocument = BookingNoted['data'] & {
  /** Its place among those of its booking. */
  readonly revision: number;
  readonly at: Timestamp;
  readonly by: Actor;
};

/** Every note about a booking. No query shows them to brands. */
export const bookingNotes = projection<BookingNoteDocument, BookingNoted>({
  name: 'bookingNotes',
  version: 1,
  indexes: [{ fields: ['bookingId', 'revision'] }],
  key: ({ data, revision }) => `${data.bookingId}:${revision}`,
  createdBy: ['BookingNoted'],
  on: {
    BookingNoted: (_, { data, revision, metadata: { at, actor } }) => ({ ...data, revision, at, by: actor }),
  },
});
