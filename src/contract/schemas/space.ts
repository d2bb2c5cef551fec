import { type Static, Type } from 'typebox';
import type { CommunityId, SpaceId } from '../../domain/ids.ts';
import { Id, PlainDate } from './scalars.ts';

/** A space as MCP's `find_spaces` lists it. */
export const SpaceListing = Type.Object({
  spaceId: Id<SpaceId>('Space identifier.'),
  name: Type.String(),
  communityId: Id<CommunityId>('Community identifier.'),
  communityName: Type.String(),
  timeZone: Type.String({ description: 'IANA time zone of the dates and hours of the space.' }),
  today: PlainDate('Today’s date in that time zone.'),
  windowStart: Type.Integer({ description: 'Earliest start hour, 24-hour clock.' }),
  windowEnd: Type.Integer({ description: 'Latest hour of the window.' }),
  durationHours: Type.Number({ description: 'Fixed length of an event.' }),
  totalPrice: Type.Number({ description: 'The price of an event for the brand, including the service fee.' }),
  currency: Type.String(),
  active: Type.Boolean({ description: 'Whether the space takes bookings.' }),
});
export type SpaceListing = Static<typeof SpaceListing>;
