import type { BookingDocument } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import { streamsOf } from '../domain/booking-days.ts';
import { FIRST_ZONE, LAST_ZONE, localMonth } from '../domain/calendar.ts';
import type { ChargeBasis } from '../domain/charges.ts';
import { refuse } from '../domain/decision.ts';
import { brandId, type Cents, cents } from '../domain/ids.ts';
import { knownEvent } from '../domain/known-event.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { createAccountQueries } from './accounts.ts';
import { createMonthCharges, type Made } from './month-charges.ts';
import type { QuerySources } from './query-deps.ts';
import type { createSpaceQueries } from './spaces.ts';

/** A charge or refund, with the name of its community and the id of its event in the log. */
export type LoggedCharge = Made & {
  /** Never negative. */
  readonly amount: Cents;
  readonly communityName: string;
  readonly eventId: string;
};

type Sources = Pick<QuerySources, 'readModels' | 'clock'> & { readonly events: Pick<EventStore, 'readStream'> };

/** The charges of a brand for the operator, each with its event in the log (docs/decisions/bookings.md). */
export function createBrandCharges(
  { events, clock, readModels }: Sources,
  { communitiesOf }: Pick<ReturnType<typeof createSpaceQueries>, 'communitiesOf'>,
) {
  const accounts = createAccountQueries({ readModels });
  const { ofEvents, made } = createMonthCharges({ readModels });

  async function* pagesOf(account: Account, month: string, by: ChargeBasis): AsyncGenerator<readonly Made[]> {
    if (by === 'approval') return yield* made.pages(account, month);
    for await (const page of ofEvents.pages(account, month)) yield page.flatMap(madeOf);
  }

  async function* logged(pages: AsyncIterable<readonly Made[]>): AsyncGenerator<LoggedCharge> {
    for await (const page of pages) {
      const communities = await communitiesOf(page.map(({ booking }) => booking));
      const ids = await eventIds(page);
      for (const each of page) {
        const { bookingId, communityId, charge = cents(0), refund = cents(0) } = each.booking;
        const [communityName, eventId] = [communities.get(communityId)?.name, ids.get(`${each.kind} ${bookingId}`)];
        if (communityName === undefined || eventId === undefined)
          throw new Error(`The log has no event for the ${each.kind} of booking ${bookingId}`);
        yield { ...each, amount: each.kind === 'charge' ? charge : refund, communityName, eventId };
      }
    }
  }

  /** By kind and booking. */
  async function eventIds(page: readonly Made[]): Promise<ReadonlyMap<string, string>> {
    const ids = new Map<string, string>();
    for (const stream of new Set(page.flatMap(({ booking }) => streamsOf(booking))))
      for await (const stored of events.readStream(stream)) {
        const event = knownEvent(stored);
        if (event.type === 'BookingApproved') ids.set(`charge ${event.data.bookingId}`, event.id);
        if (event.type === 'BookingCancelled') ids.set(`refund ${event.data.bookingId}`, event.id);
      }
    return ids;
  }

  return {
    /**
     * Refuses a brand that does not exist (`ResourceNotFound`), and by approval a month that has not begun in any zone (`ValidationError`).
     * @param month YYYY-MM
     */
    async ofMonth(brand: number, month: string, by: ChargeBasis) {
      const account = { kind: 'Brand', id: brandId(brand) } as const;
      const name = await accounts.name(account);
      if (name === undefined) return refuse('ResourceNotFound', `There is no brand ${brand}.`);
      const now = clock();
      if (by === 'approval' && month > localMonth(now, FIRST_ZONE))
        return refuse('ValidationError', `${month} has not begun yet: nothing was charged in it.`);
      return {
        brand: { brandId: account.id, name },
        /** Whether the month has ended in every zone, so that the list is final. */
        isOver: month < localMonth(now, LAST_ZONE),
        /** By approval in the order in which they were made, by event in that of the events. Read only as far as they are asked for. */
        charges: logged(pagesOf(account, month, by)),
      };
    },
  };
}

/** The charge and the refund of a booking, as far as it has them. */
function madeOf(booking: BookingDocument): readonly Made[] {
  const { approvedAt, changedAt, refund = 0 } = booking;
  if (approvedAt === undefined) return [];
  const charge: Made = { kind: 'charge', at: approvedAt, booking };
  return refund > 0 ? [charge, { kind: 'refund', at: changedAt, booking }] : [charge];
}
