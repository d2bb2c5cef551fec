import type { ReviewPosted } from '../src/domain/events.ts';
import { admissionKey } from './admissions.ts';
import { projection } from './projection.ts';

/** How a brand has rated a community. */
export type CustomerRatingsDocument = { readonly count: number; readonly stars: number };

/** By brand and community. Not part of `admissions`, which requests need: a review that cannot be folded must not stop them. */
export const customerRatings = projection<CustomerRatingsDocument, ReviewPosted>({
  name: 'customerRatings',
  version: 1,
  indexes: [],
  key: ({ data }) => admissionKey(data),
  on: {
    ReviewPosted: (document, { data: { rating } }) => ({
      count: (document?.count ?? 0) + 1,
      stars: (document?.stars ?? 0) + rating,
    }),
  },
});
