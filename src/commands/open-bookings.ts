import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { OpenBookings } from '../domain/community.ts';
import { type CommunityId, communityId } from '../domain/ids.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import type { ReadModels } from '../read-models/read-models.ts';

const OPEN: readonly BookingStatus[] = ['Pending', 'Approved'];

/** The bookings of a community in a state, the last date first. */
const lastFirst = declareQuery(
  bookings,
  (owner: CommunityId, status: BookingStatus, limit?: 1): Find<BookingDocument> => ({
    where: { communityId: owner, status },
    sort: (['date', 'startHour', 'bookingId'] as const).map((field) => ({ field, direction: 'descending' })),
    ...(limit && { limit }),
  }),
  [communityId(1), 'Pending'],
  [communityId(1), 'Approved', 1],
);

/** The Pending and Approved bookings of a community, or undefined if it has none. */
export async function openBookingsOf(owner: CommunityId, readModels: ReadModels): Promise<OpenBookings | undefined> {
  const documents = readModels.collection(bookings);
  let open: OpenBookings | undefined;
  for (const status of OPEN)
    for await (const { date } of documents.find(lastFirst(owner, status, 1))) {
      const count = (await documents.count(lastFirst(owner, status))) + (open?.count ?? 0);
      open = { count, lastDate: open === undefined || open.lastDate < date ? date : open.lastDate };
    }
  return open;
}
