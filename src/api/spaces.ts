import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { AvailabilityQuery, AvailabilityResponse, SpaceParams } from '../contract/schemas/availability.ts';
import { FoundSpace, SpaceDetails } from '../contract/schemas/space.ts';
import { FOUND_SPACES, SpacesQuery } from '../contract/schemas/space-search.ts';
import { timeOfHours, toFoundSpace, toSpaceDetails, toSpaceDto } from '../contract/space.ts';
import type { Settings } from '../description/settings.ts';
import type { Account } from '../domain/account.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { toCents } from '../domain/pricing.ts';
import type { NamedSpace } from '../domain/space.ts';
import { placeOf } from '../domain/space-search.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import { digest } from '../http/entity-tag.ts';
import type { Queries } from '../queries/queries.ts';
import type { SpaceSearch } from '../queries/space-search.ts';
import type { Clock } from '../runtime/clock.ts';
import { createAvailabilityAnswers } from './availability-answers.ts';
import { digestOf, entityTagsOf, sendTagged, taggedRoute } from './entity-tags.ts';
import { sendError, sendRefusal } from './errors.ts';
import { sendList } from './json-array.ts';

const Spaces = Type.Array(FoundSpace);

export const spaceRoutes =
  (deps: {
    readonly queries: Queries;
    readonly release: string;
    readonly clock: Clock;
    /** The inputs of prices and addresses. */
    readonly settings: Pick<Settings, 'publicUrl' | 'serviceFeePercent' | 'currency'>;
  }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { queries, release, clock, settings } = deps;
    const { serviceFeePercent, currency } = settings;
    /** Hashes of documents instead of answers, because hashes of unchanged documents are cached. */
    const versionOf = ({ space, communityName, house }: NamedSpace, now: number): string =>
      `${digestOf(space)} ${timeOfHours(space, now)} ${communityName} ${house === undefined ? '' : digestOf(house)}`;
    const entityTagOf = entityTagsOf(
      `${release} ${serviceFeePercent} ${currency}`,
      FoundSpace,
      SpaceDetails,
      AvailabilityResponse,
    );
    const answerOf = createAvailabilityAnswers();

    const searchOf = (query: Static<typeof SpacesQuery>, account: Account): SpaceSearch => {
      const { limit = FOUND_SPACES.default, offset, sort, near, date, weekday, amenity, maxPrice, ...same } = query;
      const filter = defined({
        ...same,
        dates: date,
        weekdays: weekday,
        amenities: amenity,
        near: near === undefined ? undefined : placeOf(near),
        maxPrice: maxPrice === undefined ? undefined : toCents(maxPrice),
      });
      // A community also sees its spaces that take no bookings at the moment.
      const includeInactive = account.kind === 'Community';
      return { by: account, filter, serviceFeePercent, includeInactive, limit, ...defined({ offset, sort }) };
    };

    const searchOptions = taggedRoute('ReadAvailability', 'listSpaces', { querystring: SpacesQuery }, Spaces, 404);
    app.get('/spaces', searchOptions, async (request, reply) => {
      const { account } = request.caller;
      const now = clock();
      if (Object.keys(request.query).length > 0) {
        const results = await queries.spaceSearch(searchOf(request.query, account));
        if (isRefusal(results)) return sendRefusal(reply, results);
        const nextSlice = yieldEvery(1);
        const texts: string[] = [];
        for (const space of results.spaces) {
          await nextSlice();
          texts.push(JSON.stringify(toFoundSpace(space, settings, now)));
        }
        return sendList(request, reply, {
          entityTag: entityTagOf(request, digest(texts.join())),
          pages: texts,
          textsOf: (text) => [text],
        });
      }
      const spaces = await queries.spaces.listNamed(account);
      // A community also sees its spaces that take no bookings at the moment.
      const listed = account.kind === 'Community' ? spaces : spaces.filter(({ space }) => space.active);
      return sendList(request, reply, {
        entityTag: entityTagOf(request, digest(listed.map((space) => versionOf(space, now)).join())),
        pages: listed,
        textsOf: (space) => [JSON.stringify(toSpaceDto(space, settings, now))],
      });
    });

    app.get(
      '/spaces/:spaceId',
      taggedRoute('ReadAvailability', 'getSpace', { params: SpaceParams }, SpaceDetails, 404),
      async (request, reply) => {
        const { spaceId } = request.params;
        const now = clock();
        const space = await queries.spaces.getNamed(request.caller.account, spaceId);
        if (space === undefined) return sendError(reply, 'ResourceNotFound', `There is no space ${spaceId}.`);
        const { communityId } = space.space;
        const [description, photos, housePhotos] = await Promise.all([
          queries.descriptions.ofNamed(space),
          queries.photos.ofSpaces([spaceId]),
          queries.photos.ofHouse(communityId),
        ]);
        const shown = { ...description, photos: photos.get(spaceId) ?? [], housePhotos };
        const details = toSpaceDetails(space, shown, settings, now);
        return sendTagged(request, reply, entityTagOf(request, digest(JSON.stringify(details))), details);
      },
    );

    app.get(
      '/spaces/:spaceId/availability',
      {
        ...taggedRoute(
          'ReadAvailability',
          'getAvailability',
          { params: SpaceParams, querystring: AvailabilityQuery },
          AvailabilityResponse,
          404,
        ),
        // At most 1.6 KB, which fits in two packets. Deciding about compression would take longer than the rest of the answer.
        compress: false,
      },
      async (request, reply) => {
        const { account } = request.caller;
        const availability = await queries.availability({ account, ...request.params, ...request.query });
        if (isRefusal(availability)) return sendRefusal(reply, availability);
        const { version, text } = answerOf(availability);
        reply.type('application/json; charset=utf-8');
        return sendTagged(request, reply, entityTagOf(request, version), text);
      },
    );
  };
