import { Type } from 'typebox';
import { WEEKDAYS } from '../../domain/calendar.ts';
import { AMENITIES, SPACE_KINDS } from '../../domain/description.ts';
import { CAPACITY, EVENT_FEE, MAX_SEARCH_DATES, type NumberLimit, SEARCH, WITHIN_KM } from '../../domain/limits.ts';
import { DEFAULT_WITHIN_KM, SPACE_ORDERS } from '../../domain/space-search.ts';
import { Hour, OneOf, PlainDate, Text } from './scalars.ts';

const Whole = ({ min, max }: NumberLimit, description: string) =>
  Type.Integer({ minimum: min, maximum: max, description });

/** What can be asked of spaces, with the names that REST and MCP share. */
export const searched = {
  guests: Whole(CAPACITY, 'The space must take so many. One that does not say how many it takes is left out.'),
  kind: OneOf(SPACE_KINDS, { description: 'What the space is.' }),
  hour: Hour('An event can start at this hour.'),
  maxPrice: Type.Number({
    minimum: 0,
    maximum: EVENT_FEE.max / 100,
    description: 'The highest price of an event, with the service fee.',
  }),
  name: Text(SEARCH, 'Only spaces that have each of these words in their name or that of their community.'),
  place: Text(
    SEARCH,
    'Only spaces that have each of these words in the address of their house or the name of their community: a city, a postal code, a street.',
  ),
  within: Whole(WITHIN_KM, `How far from \`near\`, in kilometres. Default: ${DEFAULT_WITHIN_KM}.`),
  month: Text({ min: 7, max: 7 }, 'Free on a day of this month, YYYY-MM.'),
  date: PlainDate('Free on this date, YYYY-MM-DD, in the time zone of the space.'),
  weekday: OneOf(WEEKDAYS, { description: 'Only these days of `month`.' }),
  amenity: OneOf(AMENITIES, { description: 'The space has this.' }),
};

/** Orders that clients choose. */
const SORTS = SPACE_ORDERS.filter((order) => order !== 'id');
/** Spaces in one answer to a search. */
export const FOUND_SPACES = { default: 100, maximum: 500 } as const;
const MAX_OFFSET = 1_000_000;

const several = <T extends Parameters<typeof Type.Array>[0]>(of: T, maxItems: number, description: string) =>
  Type.Optional(Type.Array(of, { maxItems, description }));

/** The query of GET /spaces. */
export const SpacesQuery = Type.Object({
  guests: Type.Optional(searched.guests),
  date: several(searched.date, MAX_SEARCH_DATES, 'Free on one of these dates. May be repeated.'),
  month: Type.Optional(searched.month),
  weekday: several(searched.weekday, WEEKDAYS.length, 'Only these days of `month`. May be repeated.'),
  hour: Type.Optional(searched.hour),
  maxPrice: Type.Optional(searched.maxPrice),
  amenity: several(searched.amenity, AMENITIES.length, 'The space has all of these. May be repeated.'),
  kind: Type.Optional(searched.kind),
  communityId: Type.Optional(
    Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Only spaces of this community.' }),
  ),
  place: Type.Optional(searched.place),
  near: Type.Optional(Type.String({ maxLength: 60, description: 'A latitude and a longitude, such as 52.52,13.40.' })),
  within: Type.Optional(searched.within),
  name: Type.Optional(searched.name),
  sort: Type.Optional(
    OneOf(SORTS, { description: 'Default: `fit`, the smallest space that takes the guests first, then the cheapest.' }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: FOUND_SPACES.maximum,
      description: `The most spaces that a search returns. Default: ${FOUND_SPACES.default}.`,
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_OFFSET,
      description: 'How many of the results to leave out at the beginning.',
    }),
  ),
});
