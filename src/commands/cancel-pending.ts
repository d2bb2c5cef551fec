import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { brandOf } from '../domain/account.ts';
import { isRefusal } from '../domain/decision.ts';
import { type BrandId, brandId } from '../domain/ids.ts';
import type { CancelBooking } from '../domain/space-day.ts';
import { inPages } from '../event-loop/in-pages.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { BookingCommands } from './bookings.ts';
import type { CommandContext } from './command-handler.ts';

/** Requests that are cancelled at the same time. */
const CANCELLED_TOGETHER = 20;

/** What the community reads. Why the brand is suspended is between the operator and the brand. */
const SUSPENDED = 'The operator of this service has suspended the brand.';

const pendingOf = declareQuery(
  bookings,
  (id: BrandId): Find<BookingDocument> => ({ where: { brandId: id, status: 'Pending' } }),
  [brandId(1)],
);

/** Cancels requests, unless they have been answered meanwhile. @returns how many it cancelled */
export async function cancelPending(
  cancel: BookingCommands['cancel'],
  pending: readonly BookingDocument[],
  how: Pick<CancelBooking, 'by' | 'reason'>,
  context: CommandContext,
): Promise<number> {
  let cancelled = 0;
  for await (const page of inPages(pending, CANCELLED_TOGETHER)) {
    const ended = await Promise.all(
      page.map(({ bookingId }) => cancel({ ...how, bookingId, expected: 'Pending' }, context)),
    );
    cancelled += ended.filter((each) => !isRefusal(each)).length;
  }
  return cancelled;
}

/**
 * Withdraws all unanswered requests of a suspended brand, so that their hours are free. Those whose time to withdraw is over stay, and end with their
 * time to answer. @returns how many it withdrew
 */
export const createRequestWithdrawal =
  ({ readModels }: { readonly readModels: ReadModels }, { cancel }: Pick<BookingCommands, 'cancel'>) =>
  async (id: BrandId, context: CommandContext): Promise<number> => {
    const pending = await readModels.collection(bookings).list(pendingOf(id));
    return cancelPending(cancel, pending, { by: brandOf({ brandId: id }), reason: SUSPENDED }, context);
  };
