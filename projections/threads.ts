import type { MessageSent } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

/** Which party of a booking wrote last, and when. */
export type ThreadDocument = Pick<MessageSent['data'], 'bookingId' | 'communityId' | 'brandId' | 'from'> & {
  readonly at: Timestamp;
};

/** The last message of every booking, without its text: every page of the console shows how many are unread. */
export const threads = projection<ThreadDocument, MessageSent>({
  name: 'threads',
  version: 1,
  indexes: [{ fields: ['communityId', 'from', 'at'] }, { fields: ['brandId', 'from', 'at'] }],
  key: ({ data }) => String(data.bookingId),
  createdBy: ['MessageSent'],
  on: {
    MessageSent: (_, { data: { bookingId, communityId, brandId, from }, metadata: { at } }) => ({
      bookingId,
      communityId,
      brandId,
      from,
      at,
    }),
  },
});
