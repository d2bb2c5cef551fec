import { Type } from 'typebox';
import { toAvailabilityResponse } from '../contract/availability.ts';
import { AvailabilityResponse } from '../contract/schemas/availability.ts';
import { Coordinates } from '../contract/schemas/description.ts';
import { Hour, Id, OneOf, PlainDate } from '../contract/schemas/scalars.ts';
import { SpaceListing } from '../contract/schemas/space.ts';
import { FOUND_SPACES, searched } from '../contract/schemas/space-search.ts';
import { toSpaceListing } from '../contract/space.ts';
import { daysIn, daysLater, isPlainDate, LAST_ZONE, localDate, WEEKDAYS } from '../domain/calendar.ts';
import { wrongRange } from '../domain/date-range.ts';
import { isRefusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { AMENITIES } from '../domain/description.ts';
import type { SpaceId } from '../domain/ids.ts';
import { MAX_SEARCH_DATES, MAX_YEARS_AHEAD } from '../domain/limits.ts';
import { toCents } from '../domain/pricing.ts';
import { SPACE_ORDERS, type SpaceFilter, type SpaceOrder } from '../domain/space-search.ts';
import { whyNoHours } from '../queries/availability.ts';
import type { NoDays, OpenDaysCursor } from '../queries/open-days.ts';
import type { SpaceSearch } from '../queries/space-search.ts';
import { Cursor, cursorOf, Input, InputId, Limit, Next, Reason, wrongCursor } from './lists.ts';
import { type Tool, type ToolDeps, tool } from './tool.ts';

const DAYS = { default: 30, maximum: 60 } as const;
const MAX_RANGE_DAYS = 366;
const DEFAULT_RANGE_DAYS = 31;

export const SEE_SPACES = 'Call find_spaces to see which spaces exist.';

const FindSpacesInput = Input({
  name: Type.Optional(searched.name),
  communityId: Type.Optional(InputId('Only spaces of this community.')),
  guests: Type.Optional(searched.guests),
  kind: Type.Optional(searched.kind),
  amenities: Type.Optional(Type.Array(searched.amenity, { maxItems: AMENITIES.length, description: 'All of these.' })),
  place: Type.Optional(searched.place),
  near: Type.Optional(Coordinates),
  within: Type.Optional(searched.within),
  dates: Type.Optional(
    Type.Array(searched.date, { maxItems: MAX_SEARCH_DATES, description: 'Free on one of these dates.' }),
  ),
  month: Type.Optional(searched.month),
  weekdays: Type.Optional(Type.Array(searched.weekday, { uniqueItems: true })),
  hour: Type.Optional(searched.hour),
  maxPrice: Type.Optional(searched.maxPrice),
  sort: Type.Optional(OneOf(SPACE_ORDERS, { description: 'Default: fit for a search, id without guests and days.' })),
  includeInactive: Type.Optional(
    Type.Boolean({ description: 'Whether to include spaces that do not take bookings at the moment.' }),
  ),
  limit: Limit('spaces', FOUND_SPACES),
  cursor: Cursor,
});

export const findSpaces = ({ queries, clock, pricing }: ToolDeps): Tool =>
  tool({
    name: 'find_spaces',
    title: 'Find spaces',
    description:
      'Finds bookable spaces, with their booking window, event length, price and community: by guests, place, days, ' +
      'hour, price and amenities, or all of them. Start here to get a spaceId and today’s date in the time zone of ' +
      'each space.',
    input: FindSpacesInput,
    output: Type.Object({ spaces: Type.Array(SpaceListing), reason: Reason, next: Next }),
    access: { permission: 'ReadAvailability' },
    writes: false,
    async run({ limit = FOUND_SPACES.default, cursor, includeInactive = false, ...asked }, { caller }) {
      const offset = cursor === undefined ? 0 : idOf(cursor);
      if (offset === undefined) return wrongCursor();
      const { sort = defaultOrder(asked), maxPrice, ...filter } = asked;
      const search = {
        by: caller.account,
        serviceFeePercent: pricing.serviceFeePercent,
        filter: { ...filter, ...defined({ maxPrice: maxPrice === undefined ? undefined : toCents(maxPrice) }) },
        sort,
      };
      const results = await queries.spaceSearch({ ...search, includeInactive, offset, limit });
      if (isRefusal(results)) return results;
      const { total, spaces } = results;
      const isLast = offset + spaces.length >= total;
      const photos = await queries.photos.ofSpaces(spaces.map(({ space }) => space.spaceId));
      return {
        spaces: spaces.map((found) => toSpaceListing(found, pricing, clock(), photos.get(found.space.spaceId)?.[0])),
        ...(total === 0 && {
          reason: await whyNone({ ...search, includeInactive: true, includeTaken: true, limit: 0 }),
        }),
        ...(!isLast && { next: cursorOf(String(offset + spaces.length), { ...asked, includeInactive }) }),
      };

      async function whyNone(wider: SpaceSearch): Promise<string> {
        const matching = await queries.spaceSearch(wider);
        return whyNoSpaces(isRefusal(matching) ? 0 : matching.total, asked.dates ?? asked.month);
      }
    },
  });

/** As before there was a search, without what only a search has. */
const defaultOrder = ({ guests, dates, month }: Pick<SpaceFilter, 'guests' | 'dates' | 'month'>): SpaceOrder =>
  guests === undefined && dates === undefined && month === undefined ? 'id' : 'fit';

export const checkAvailability = ({ queries }: ToolDeps): Tool =>
  tool({
    name: 'check_availability',
    title: 'Check availability',
    description:
      'Shows which start hours of one space are available on one date. Check this before requesting a booking. To ' +
      'search several days or spaces, call find_open_days.',
    input: Input({
      spaceId: InputId('From find_spaces.'),
      date: PlainDate('YYYY-MM-DD, today or later in the time zone of the space.'),
    }),
    output: Type.Object({ ...AvailabilityResponse.properties, reason: Reason }),
    access: { permission: 'ReadAvailability' },
    writes: false,
    advice: { ResourceNotFound: SEE_SPACES, ValidationError: 'Choose a later date.' },
    async run({ spaceId, date }, { caller }) {
      const availability = await queries.availability({ account: caller.account, spaceId, date });
      if (isRefusal(availability)) return availability;
      const why = whyNoHours(availability);
      return { ...toAvailabilityResponse(availability), ...(why && { reason: NO_DAYS[why] }) };
    },
  });

const OpenDaysInput = Input({
  spaceIds: Type.Optional(
    Type.Array(InputId<SpaceId>('From find_spaces.'), {
      maxItems: 100,
      description: 'Only these spaces. Default: all that take bookings.',
    }),
  ),
  communityId: Type.Optional(InputId('Only spaces of this community.')),
  startDate: Type.Optional(PlainDate('First day, YYYY-MM-DD. Default: today.')),
  endDate: Type.Optional(
    PlainDate(
      `Last day, YYYY-MM-DD, at most ${MAX_RANGE_DAYS} days in all. Default: ${DEFAULT_RANGE_DAYS} days in all.`,
    ),
  ),
  weekdays: Type.Optional(
    Type.Array(OneOf(WEEKDAYS), { uniqueItems: true, description: 'Only these days of the week.' }),
  ),
  startHour: Type.Optional(Hour('Only days on which an event can start at this hour.')),
  limit: Limit('days', DAYS),
  cursor: Cursor,
});

const OpenDay = Type.Object({
  date: PlainDate('In the time zone of the space.'),
  weekday: OneOf(WEEKDAYS),
  spaceId: Id<SpaceId>('The space.'),
  spaceName: Type.String(),
  openHours: Type.Array(Hour('A start hour.'), {
    description: 'Start hours that can be booked. check_availability says which leave less time.',
  }),
});

export const findOpenDays = ({ queries, clock }: ToolDeps): Tool =>
  tool({
    name: 'find_open_days',
    title: 'Find open days',
    description:
      'Searches several days and spaces at once for hours that can be booked, earliest first: “the next free ' +
      'Saturday”, “any space on 12 or 13 June at 18:00”. Days without an open hour are left out. If there is a ' +
      '"next", the search goes on from there, even if it has found nothing yet.',
    input: OpenDaysInput,
    output: Type.Object({ days: Type.Array(OpenDay), reason: Reason, next: Next }),
    access: { permission: 'ReadAvailability' },
    writes: false,
    advice: { ResourceNotFound: SEE_SPACES },
    async run({ limit = DAYS.default, cursor, startDate, endDate, ...filter }, call) {
      const { caller, answerBy, isDisconnected } = call;
      const after = cursor === undefined ? undefined : dayOf(cursor);
      if (cursor !== undefined && after === undefined) return wrongCursor();
      // The earliest date that is today in any zone. Each space skips the days that have passed in its zone.
      const from = startDate ?? localDate(clock(), LAST_ZONE);
      const to = endDate ?? daysLater(from, DEFAULT_RANGE_DAYS - 1);
      const wrong = wrongRange({ startDate: from, endDate: to });
      if (wrong !== undefined) return wrong;
      const days = daysIn(from, to);
      if (days > MAX_RANGE_DAYS)
        return refuse('ValidationError', `The range must have at most ${MAX_RANGE_DAYS} days, not ${days}.`);
      const result = await queries.openDays({
        account: caller.account,
        from,
        to,
        limit,
        isWanted: () => !isDisconnected() && performance.now() < answerBy,
        ...filter,
        ...(after && { after }),
      });
      if (isRefusal(result)) return result;
      return {
        days: result.days.map(({ space, date, weekday, openHours }) => ({
          date,
          weekday,
          spaceId: space.spaceId,
          spaceName: space.name,
          openHours: [...openHours],
        })),
        ...(result.why && { reason: NO_DAYS[result.why] }),
        ...(result.next && {
          next: cursorOf(`${result.next.date}:${result.next.spaceId}`, { ...filter, startDate: from, endDate: to }),
        }),
      };
    },
  });

/**
 * @param matching how many spaces match apart from that they take no bookings, or are not free
 * @param days the days of the search, if it has any
 */
const whyNoSpaces = (matching: number, days: unknown): string => {
  if (matching === 0) return 'No space matches.';
  if (days !== undefined) return `${matching} matching ${matching === 1 ? 'space is' : 'spaces are'} not free then.`;
  const inactive = matching;
  return `${inactive} matching ${inactive === 1 ? 'space takes' : 'spaces take'} no bookings at the moment. Set includeInactive to see them.`;
};

/** What a model reads instead of "fully booked". */
const NO_DAYS: Readonly<Record<NoDays | 'Closed', string>> = {
  NoSpaces: 'There is no such space.',
  Inactive: 'The space takes no bookings at the moment.',
  Past: 'That time is in the past.',
  TooSoon: 'It begins too soon: find_spaces says how many hours ahead an event must be requested (noticeHours).',
  TooFar: `Bookings are taken at most ${MAX_YEARS_AHEAD} years ahead, or the horizonDays that find_spaces shows.`,
  ClosedDays: 'The space is closed on these days of the week. find_spaces says on which it is open.',
  Closed: 'The community has closed the space then.',
  OutsideWindow:
    'No event can start at this hour: it is outside the booking window. find_spaces says which hours are inside.',
};

const idOf = (cursor: string) => (/^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined);

function dayOf(cursor: string): OpenDaysCursor | undefined {
  const [date = '', id = '', ...rest] = cursor.split(':');
  const spaceId = idOf(id);
  return isPlainDate(date) && spaceId !== undefined && rest.length === 0 ? { date, spaceId } : undefined;
}
