import type { Cents, CommunityId, PlainDate as Day, SpaceId } from '../domain/ids.ts';
import { toAmount } from '../domain/pricing.ts';
import type { Space } from '../domain/space.ts';
import { Hour, Id, PlainDate } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** A space as an operator sees it: the command line's JSON. */
export const OperatorSpace = Type.Object({
  id: Id<SpaceId>('Space identifier.'),
  name: Type.String(),
  windowStart: Hour('Earliest hour of the booking window.'),
  windowEnd: Hour('Latest hour of the booking window.'),
  durationHours: Type.Number({ description: 'Fixed length of an event.' }),
  answerHours: Type.Number({ description: 'Hours after which an unanswered request expires.' }),
  communityId: Id<CommunityId>('The community that owns the space.'),
  timeZone: Type.String({ description: 'IANA time zone of its community.' }),
  active: Type.Boolean({ description: 'Whether the space takes bookings.' }),
  eventFee: Type.Number({ description: 'Flat fee per event, without the service fee.' }),
});

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

const operatorSpace = shaped(OperatorSpace);
export const toOperatorSpace = (space: Space): Static<typeof OperatorSpace> =>
  operatorSpace({ ...space, id: space.spaceId, eventFee: toAmount(space.eventFee) });

/** What a listing tells of a space besides its terms. */
type Circumstances = {
  readonly communityName: string;
  readonly today: Day;
  readonly totalPrice: Cents;
  readonly currency: string;
};

const listing = shaped(SpaceListing);
export const toSpaceListing = (space: Space, circumstances: Circumstances): Static<typeof SpaceListing> =>
  listing({ ...space, ...circumstances, totalPrice: toAmount(circumstances.totalPrice) });
