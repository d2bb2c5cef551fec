import { type Static, Type } from 'typebox';
import { WEEKDAYS } from '../../domain/calendar.ts';
import type { CommunityId, SpaceId } from '../../domain/ids.ts';
import { RATING } from '../../domain/limits.ts';
import { HouseDto, HouseFactsDto, spaceFacts, spaceTexts } from './description.ts';
import { Photos } from './photo.ts';
import { Amount, Hour, Id, OneOf, PlainDate } from './scalars.ts';

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
  totalPrice: Amount('The price of an event for the brand, including the service fee. At most two decimals.'),
  currency: Type.String({ description: 'The currency of the service, an ISO 4217 code.' }),
};

const dayTerms = {
  windowStart: Hour('Earliest start hour of the day.'),
  windowEnd: Hour('Latest hour of the booking window of the day.'),
  totalPrice: Amount('The price of an event of the day, including the service fee.'),
};

const { windowStart, windowEnd, totalPrice } = dayTerms;

/** Absent where the space has none. */
const hoursAndRules = {
  week: Type.Optional(
    Type.Array(
      Type.Object({
        weekday: OneOf(WEEKDAYS),
        open: Type.Boolean({ description: 'Whether events can start on this weekday. Special hours of a date win.' }),
        windowStart: Type.Optional(windowStart),
        windowEnd: Type.Optional(windowEnd),
        totalPrice,
      }),
      {
        description:
          'Hours and price of each weekday, Monday first, if the days differ. Absent: windowStart, windowEnd and totalPrice of the space on every day.',
      },
    ),
  ),
  specialHours: Type.Optional(
    Type.Array(Type.Object({ date: PlainDate('In the time zone of the space.'), ...dayTerms }), {
      description: 'Hours and price of single dates from today on, instead of those of their weekday.',
    }),
  ),
  noticeHours: Type.Optional(
    Type.Integer({ minimum: 1, description: 'How many hours before its start an event must be requested.' }),
  ),
  horizonDays: Type.Optional(
    Type.Integer({ minimum: 1, description: 'How many days ahead bookings are taken. Absent: five years.' }),
  ),
  cancelHours: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'How many hours before the start a brand may cancel at the latest. Absent: until the start.',
    }),
  ),
};

const active = Type.Boolean({ description: 'Whether the space takes bookings.' });

/** What a search adds to a space. */
const searchResult = {
  distance: Type.Optional(
    Type.Number({ minimum: 0, description: 'How far its house is from the place of the search, in kilometres.' }),
  ),
  rating: Type.Optional(
    Type.Object(
      {
        average: Type.Number({
          minimum: RATING.min,
          maximum: RATING.max,
          description: 'Of 5 stars, with two decimals.',
        }),
        count: Type.Integer({ minimum: 1, description: 'How many reviews it is the average of.' }),
      },
      { title: 'Rating', description: 'How the space is rated. Absent if it has no reviews that you may read.' },
    ),
  ),
};

/** A space as MCP's `find_spaces` lists it. */
export const SpaceListing = Type.Object({
  spaceId: Id<SpaceId>('Space identifier.'),
  ...named,
  today: PlainDate('Today’s date in that time zone.'),
  ...terms,
  active,
  ...hoursAndRules,
  ...spaceFacts,
  house: Type.Optional(HouseFactsDto),
  ...searchResult,
  freeDates: Type.Optional(
    Type.Array(PlainDate('In the time zone of the space.'), {
      description:
        'Of the days that were asked for, those on which the space is free. check_availability has the hours.',
    }),
  ),
  photo: Type.Optional(Type.String({ description: 'The address of its first photo, a WebP file.' })),
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
    ...hoursAndRules,
    ...spaceFacts,
    house: Type.Optional(HouseFactsDto),
  },
  { title: 'SpaceDto', description: 'A space with its terms.' },
);
export type SpaceDto = Static<typeof SpaceDto>;

/** A space as a search finds it. */
export const FoundSpace = Type.Object(
  {
    ...SpaceDto.properties,
    ...searchResult,
    freeDays: Type.Optional(
      Type.Array(
        Type.Object({
          date: PlainDate('In the time zone of the space.'),
          openHours: Type.Array(Hour('A start hour.'), { description: 'Start hours that can be booked.' }),
          totalPrice: Amount('The price of an event of the day, with the service fee.'),
        }),
        { description: 'Of the days that were asked for, those on which the space is free. Absent if none were.' },
      ),
    ),
  },
  { title: 'FoundSpace', description: 'A space with its terms. A search adds distance, rating and freeDays.' },
);
export type FoundSpace = Static<typeof FoundSpace>;

/** A space with all that its community says of it. */
export const SpaceDetails = Type.Object(
  {
    ...SpaceDto.properties,
    ...spaceTexts,
    photos: Photos('Photos of the space, in the order of its community. Absent if there are none.'),
    house: Type.Optional(HouseDto),
    housePhotos: Photos('Photos of the house that the space is in. Absent if there are none.'),
  },
  { title: 'SpaceDetails', description: 'A space with its terms and its description.' },
);
export type SpaceDetails = Static<typeof SpaceDetails>;
