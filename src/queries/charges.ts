import { FIRST_ZONE, LAST_ZONE, localMonth, localTime } from '../domain/calendar.ts';
import { type Community, evolveCommunity } from '../domain/community.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import type { BookingApproved, BookingCancelled, BrandAdded, CommunityEvent } from '../domain/events.ts';
import type { BrandId } from '../domain/ids.ts';
import {
  type ChargeBasis,
  type ChargesOfMonth,
  type ListedPayment,
  PAYMENT_EVENTS,
  paymentOf,
} from '../domain/payment.ts';
import { streamOf } from '../domain/streams.ts';
import { upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';

type Reads = Pick<EventStore, 'readStream' | 'readAll'>;

const PROGRESS_EVERY = 10_000;

/** Charges of brands from the log, for the operator (docs/decisions/bookings.md). */
export function createCharges({ events, clock }: { readonly events: Reads; readonly clock: Clock }) {
  async function brandOf(id: number): Promise<BrandAdded['data'] | undefined> {
    for await (const stored of events.readStream(streamOf.brand(id), { limit: 1 }))
      return upcast<BrandAdded>(stored).data;
    return undefined;
  }

  async function* paymentsOf(
    { brandId }: { readonly brandId: BrandId },
    month: string,
    by: ChargeBasis,
    onProgress: Parameters<ChargesOfMonth['read']>[0],
  ): AsyncGenerator<ListedPayment> {
    const communities = new Map<number, Community>();
    let done = 0;
    for await (const stored of events.readAll({ types: ['CommunityAdded', 'CommunityChanged', ...PAYMENT_EVENTS] })) {
      const event = upcast<CommunityEvent | BookingApproved | BookingCancelled>(stored);
      // A payment belongs to the month by the clock that the community had then.
      if (event.type === 'CommunityAdded' || event.type === 'CommunityChanged') {
        const community = evolveCommunity(communities.get(event.data.communityId), event);
        if (community !== undefined) communities.set(event.data.communityId, community);
        continue;
      }
      done += 1;
      if (done % PROGRESS_EVERY === 0) onProgress?.({ done, at: event.metadata.at });
      if (event.data.brandId !== brandId) continue;
      const payment = paymentOf(event);
      if (payment === undefined) continue;
      const { communityId } = event.data;
      const community = communities.get(communityId);
      if (community === undefined)
        throw new Error(`Event ${event.id} is of community ${communityId}, which is not in the log before it`);
      const at = Date.parse(payment.at);
      const monthOf = by === 'event' ? event.data.date.slice(0, 7) : localMonth(at, community.timeZone);
      if (monthOf === month) yield { ...payment, community, localTime: localTime(at, community.timeZone) };
    }
  }

  return {
    /**
     * A brand's charges and refunds in a month, on a basis, in the time zone of the community. Refuses a brand that does not exist
     * (`ResourceNotFound`), and by approval a month that has not begun in any zone (`ValidationError`).
     * @param month YYYY-MM
     */
    async ofMonth(brandId: number, month: string, by: ChargeBasis): Promise<ChargesOfMonth | Refusal> {
      const brand = await brandOf(brandId);
      if (brand === undefined) return refuse('ResourceNotFound', `There is no brand ${brandId}.`);
      const now = clock();
      if (by === 'approval' && month > localMonth(now, FIRST_ZONE))
        return refuse('ValidationError', `${month} has not begun yet: nothing was charged in it.`);
      return {
        brand,
        isOver: month < localMonth(now, LAST_ZONE),
        read: (onProgress) => paymentsOf(brand, month, by, onProgress),
      };
    },
  };
}
