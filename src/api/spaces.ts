import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AvailabilityQuery, AvailabilityResponse, SpaceParams } from '../contract/schemas/availability.ts';
import { errors } from '../contract/schemas/errors.ts';
import { isRefusal } from '../domain/decision.ts';
import type { Queries } from '../queries/queries.ts';
import { createAvailabilityAnswers } from './availability-answers.ts';
import { CacheHeaders, cacheable, entityTagsOf, isHeld, sendNotModified, tagged } from './entity-tags.ts';
import { sendRefusal } from './errors.ts';

export const spaceRoutes =
  ({ queries, release }: { readonly queries: Queries; readonly release: string }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const entityTagOf = entityTagsOf(release, AvailabilityResponse);
    const answerOf = createAvailabilityAnswers();

    app.get(
      '/spaces/:spaceId/availability',
      {
        config: { access: { permission: 'ReadAvailability' } },
        schema: {
          operationId: 'getAvailability',
          params: SpaceParams,
          querystring: AvailabilityQuery,
          headers: CacheHeaders,
          response: { ...cacheable(AvailabilityResponse), ...errors(400, 401, 403, 404, 500) },
        },
      },
      async (request, reply) => {
        const { params, query, caller } = request;
        const found = await queries.availability({
          account: caller.account,
          spaceId: params.spaceId,
          date: query.date,
        });
        if (isRefusal(found)) return sendRefusal(reply, found);
        const { version, text } = answerOf(found);
        const entityTag = entityTagOf(request, version);
        if (isHeld(request, entityTag)) return sendNotModified(reply, entityTag);
        return tagged(reply, entityTag).type('application/json; charset=utf-8').send(text);
      },
    );
  };
