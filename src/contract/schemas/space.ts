import { type Static, Type } from 'typebox';
import type { CommunityId, SpaceId } from '../../domain/ids.ts';
import { Hour, Id, PlainDate } from './scalars.ts';

const named = {
  name: Type.String({ description: 'Display name of the space.' }),
  communityId: Id<CommunityId>('Community identifier.'),
  communityName: Type.String({ description: 'Display name of the community that owns the space.' }),
  timeZone: Type.String({ description: 'IANA time zone of the dates and hours of the space.' }),
};

const terms = {
  windowStart: Hour('Earliest start hour, 24-hour clock.'),
  windowEnd: Hour('Latest hour of the booking window, 24-hour clock.'),
  durationHours: Type.Number({ description: 'Fixed length of an event, in hours.' }),
  totalPrice: Type.Number({
    minimum: 0,
    description: 'The price of an event for the brand, including the service fee. At most two decimals.',
  }),
  currency: Type.String({ description: 'The currency of the service, an ISO 4217 code.' }),
};

const active = Type.Boolean({ description: 'Whether the space takes bookings.' });

/** A space as MCP's `find_spaces` lists it. */
export const SpaceListing = Type.Object({
  spaceId: Id<SpaceId>('Space identifier.'),
  ...named,
  today: PlainDate('Today’s date in that time zone.'),
  ...terms,
  active,
});
export type SpaceListing = Static<typeof SpaceListing>;

/** A space with its terms (docs/guides/rest-api.md#resources). */
export const SpaceDto = Type.Object(
  {
    id: Id<SpaceId>('Space identifier: the spaceId of availability and bookings.'),
    ...named,
    ...terms,
    answerHours: Type.Integer({ minimum: 1, description: 'Hours after which an unanswered request is cancelled.' }),
    active,
  },
  { title: 'SpaceDto', description: 'A space with its terms.' },
);
export type SpaceDto = Static<typeof SpaceDto>;
