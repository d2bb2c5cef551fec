import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { toReviewDto } from '../contract/review.ts';
import { CommunityParams, ReviewDto } from '../contract/schemas/review.ts';
import { isRefusal } from '../domain/decision.ts';
import { digest } from '../http/entity-tag.ts';
import type { Queries } from '../queries/queries.ts';
import { entityTagsOf, taggedRoute } from './entity-tags.ts';
import { sendRefusal } from './errors.ts';
import { sendList } from './json-array.ts';

const Reviews = Type.Array(ReviewDto);

export const reviewRoutes =
  ({ queries, release }: { readonly queries: Queries; readonly release: string }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const entityTagOf = entityTagsOf(release, Reviews);

    app.get(
      '/communities/:communityId/reviews',
      taggedRoute('ReadReviews', 'listReviews', { params: CommunityParams }, Reviews, 404),
      async (request, reply) => {
        const pages = await queries.reviews.list(request.caller.account, request.params.communityId);
        if (isRefusal(pages)) return sendRefusal(reply, pages);
        const version = await queries.reviews.versionOf(request.params.communityId);
        return sendList(request, reply, {
          entityTag: entityTagOf(request, digest(version)),
          pages,
          textsOf: (review) => [JSON.stringify(toReviewDto(review))],
        });
      },
    );
  };
