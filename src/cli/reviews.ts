import type { Command } from '@commander-js/extra-typings';
import { toOperatorReview } from '../contract/review.ts';
import { wholeNumber } from './arguments.ts';
import { operated } from './operation.ts';
import { answer, subcommand } from './subcommand.ts';

export function reviewCommands(venue: Command): void {
  const review = venue.command('review').description('manage reviews of completed bookings');

  subcommand(
    review,
    'post',
    'post the review of a completed booking on behalf of its brand',
    'review post 7 --rating 5 --title "Light and quiet" --content "The hall was ready when we came."',
  )
    .argument('<booking-id>', 'id of the booking', wholeNumber)
    .requiredOption('--rating <stars>', 'rating, 1 to 5', wholeNumber)
    .requiredOption('--title <text>', 'headline')
    .requiredOption('--content <text>', 'full text')
    .action(
      operated(async ({ commands, context }, bookingId, options) => {
        const posted = await commands.reviews.post({ bookingId, ...options }, context);
        return answer(posted, (review) => ({ json: toOperatorReview(review) }));
      }),
    );
}
