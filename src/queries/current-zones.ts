import type { BookingDocument } from '../../projections/bookings.ts';
import { communities } from '../../projections/communities.ts';
import type { QueryDeps } from './query-deps.ts';

/**
 * Gives open bookings the zone that their community has now: they keep their date and hour when it changes (docs/decisions/time.md). What
 * has ended keeps the zone that it ended in. Looks up each community once.
 */
export function currentZones({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const zones = new Map<number, Promise<string | undefined>>();
  const zoneOf = async (communityId: number): Promise<string | undefined> =>
    (await readModels.collection(communities).get(String(communityId)))?.document.timeZone;

  async function inCurrentZone<B extends Pick<BookingDocument, 'communityId' | 'status' | 'timeZone'>>(
    booking: B,
  ): Promise<B> {
    const { communityId, status } = booking;
    if (status !== 'Pending' && status !== 'Approved') return booking;
    const timeZone = await zones.getOrInsertComputed(communityId, zoneOf);
    return timeZone === undefined || timeZone === booking.timeZone ? booking : { ...booking, timeZone };
  }
  return {
    inCurrentZone,
    allInCurrentZone: <B extends Pick<BookingDocument, 'communityId' | 'status' | 'timeZone'>>(
      documents: readonly B[],
    ): Promise<B[]> => Promise.all(documents.map((each) => inCurrentZone(each))),
  };
}
