import { bookings } from '../../projections/bookings.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { ReviewPosted } from '../domain/events.ts';
import { type BrandId, bookingId, reviewId } from '../domain/ids.ts';
import { postReview } from '../domain/review.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { CommandLog, Issuer } from './command-handler.ts';
import type { Sequence } from './sequence.ts';
import { review, spaceDay, streamOf } from './aggregates.ts';

export type ReviewCommands = {
  /** Posts the one review of a completed booking. Without `brandId` the operator does it for the brand. */
  post(
    command: {
      readonly bookingId: number;
      readonly brandId?: BrandId;
      readonly rating: number;
      readonly title: string;
      readonly content: string;
    },
    issuer: Issuer,
  ): Promise<ReviewPosted['data'] | Refusal>;
};

export function createReviewCommands(parts: {
  readonly log: CommandLog;
  readonly readModels: ReadModels;
  readonly ids: Sequence;
}): ReviewCommands {
  const { log, readModels, ids } = parts;
  return {
    async post(command, issuer) {
      const found = await readModels.collection(bookings).get(String(command.bookingId));
      if (found === undefined) return refuse('ResourceNotFound', `There is no booking ${command.bookingId}.`);
      const day = await log.load(streamOf.spaceDay(found.document.spaceId, found.document.date), spaceDay);
      const id = bookingId(command.bookingId);
      const posted = { ...command, bookingId: id, reviewId: reviewId(await ids.next()) };
      const outcome = await log.execute(streamOf.review(id), review, issuer, (existing) =>
        postReview(existing, posted, day.bookings.get(id)),
      );
      if (isRefusal(outcome)) return outcome;
      const [event] = outcome.events;
      if (event === undefined) throw new Error(`A review of booking ${id} was accepted without an event`);
      return event.data;
    },
  };
}
