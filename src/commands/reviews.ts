import { bookings } from '../../projections/bookings.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { ReviewPosted } from '../domain/events.ts';
import { bookingId, reviewId } from '../domain/ids.ts';
import type { Opened } from '../domain/personal-text.ts';
import { type AnswerReview, answerReview, type PostReview, postReview } from '../domain/review.ts';
import { findBooking } from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import { review, spaceDay } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

export function createReviewCommands({ handler, readModels, ids }: CommandDeps) {
  return {
    /** Posts the review of a completed booking. Without `brandId`, an operator posts it for the brand. */
    async post(
      command: Omit<PostReview, 'reviewId' | 'bookingId'> & { readonly bookingId: number },
      context: CommandContext,
    ): Promise<Opened<ReviewPosted['data']> | Refusal> {
      const stored = await readModels.collection(bookings).get(String(command.bookingId));
      if (stored === undefined) return refuse('ResourceNotFound', `There is no booking ${command.bookingId}.`);
      const day = await handler.load(streamOf.spaceDay(stored.spaceId, stored.date), spaceDay);
      const id = bookingId(command.bookingId);
      const posted = { ...command, bookingId: id, reviewId: reviewId(await ids.reviews.next()) };
      const outcome = await handler.execute(streamOf.review(id), review, context, (existing) =>
        postReview(existing, posted, findBooking(day, id)),
      );
      if (isRefusal(outcome)) return outcome;
      const [event] = outcome.events;
      if (event === undefined) throw new Error(`The review of booking ${id} was accepted but produced no event`);
      const { title, content } = command;
      return { ...event.data, title, content };
    },

    /** Answers the review of a booking, once, for the community that it is about. */
    answer: (command: AnswerReview, context: CommandContext) =>
      handler.execute(streamOf.review(command.bookingId), review, context, (existing) =>
        answerReview(existing, command),
      ),
  };
}
