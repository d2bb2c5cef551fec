import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import fastJson from 'fast-json-stringify';
import { Type } from 'typebox';
import { errors } from '../contract/errors.ts';
import { CommunityParams, ReviewDto, toReviewDto } from '../contract/review.ts';
import { isRefusal } from '../domain/decision.ts';
import type { Queries } from '../queries/queries.ts';
import { sendRefusal } from './errors.ts';
import { sendJsonArray } from './json-array.ts';

const stringifyReview = fastJson(ReviewDto);

export const reviewRoutes =
  ({ queries }: { readonly queries: Queries }): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/communities/:communityId/reviews',
      {
        config: { access: { permission: 'ReadReviews' } },
        schema: {
          summary: 'List the reviews of a community',
          description:
            'A Community caller can read its own, a Brand caller those of communities where it has completed a booking.',
          tags: ['Reviews'],
          params: CommunityParams,
          response: { 200: Type.Array(ReviewDto), ...errors(400, 401, 403, 404, 500) },
        },
      },
      async (request, reply) => {
        const found = await queries.reviews.list(request.caller.account, request.params.communityId);
        if (isRefusal(found)) return sendRefusal(reply, found);
        return sendJsonArray(reply, found, (review) => stringifyReview(toReviewDto(review)));
      },
    );
  };
