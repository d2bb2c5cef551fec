import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AvailabilityQuery, AvailabilityResponse, SpaceParams } from '../contract/schemas/availability.ts';
import { errors } from '../contract/schemas/errors.ts';
import { isRefusal, type Refusal } from '../domain/decision.ts';
import type { Availability } from '../queries/availability.ts';
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
      (request, reply) => {
        const answer = (found: Availability | Refusal): void => {
          if (isRefusal(found)) return void sendRefusal(reply, found);
          const { version, text } = answerOf(found);
          const entityTag = entityTagOf(request, version);
          if (isHeld(request, entityTag)) sendNotModified(reply, entityTag);
          else tagged(reply, entityTag).type('application/json; charset=utf-8').send(text);
        };
        const { params, query, caller } = request;
        const found = queries.availability({ account: caller.account, spaceId: params.spaceId, date: query.date });
        return found instanceof Promise ? found.then(answer) : answer(found);
      },
    );
  };
