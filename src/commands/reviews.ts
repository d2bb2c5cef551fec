import { bookings } from '../../projections/bookings.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { ReviewPosted } from '../domain/events.ts';
import { type BrandId, bookingId, reviewId } from '../domain/ids.ts';
import type { Opened } from '../domain/personal-text.ts';
import { postReview } from '../domain/review.ts';
import { findBooking } from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { review, spaceDay } from './aggregates.ts';
import type { CommandContext, CommandHandler } from './command-handler.ts';
import type { Sequence } from './sequence.ts';

export type ReviewCommands = {
  /** Posts the review of a completed booking. Without `brandId`, an operator posts it for the brand. */
  post(
    command: {
      readonly bookingId: number;
      readonly brandId?: BrandId;
      readonly rating: number;
      readonly title: string;
      readonly content: string;
    },
    context: CommandContext,
  ): Promise<Opened<ReviewPosted['data']> | Refusal>;
};

export function createReviewCommands(deps: {
  readonly handler: CommandHandler;
  readonly readModels: ReadModels;
  readonly ids: Sequence;
}): ReviewCommands {
  const { handler, readModels, ids } = deps;
  return {
    async post(command, context) {
      const stored = await readModels.collection(bookings).get(String(command.bookingId));
      if (stored === undefined) return refuse('ResourceNotFound', `There is no booking ${command.bookingId}.`);
      const day = await handler.load(streamOf.spaceDay(stored.document.spaceId, stored.document.date), spaceDay);
      const id = bookingId(command.bookingId);
      const posted = { ...command, bookingId: id, reviewId: reviewId(await ids.next()) };
      const outcome = await handler.execute(streamOf.review(id), review, context, (existing) =>
        postReview(existing, posted, findBooking(day, id)),
      );
      if (isRefusal(outcome)) return outcome;
      const [event] = outcome.events;
      if (event === undefined) throw new Error(`The review of booking ${id} was accepted but produced no event`);
      const { title, content } = command;
      return { ...event.data, title, content };
    },
  };
}
