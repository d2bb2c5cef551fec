import { actorOf } from '../auth/caller.ts';
import type { Commands } from '../commands/commands.ts';
import { AvailabilityResponse, toAvailabilityResponse } from '../contract/availability.ts';
import { BookingDto, BookingStatus, IdempotencyKey, SentDetails, toBookingDto } from '../contract/booking.ts';
import { HistoryEntry, historyEntries } from '../contract/history-entry.ts';
import { ReviewDto, toReviewDto } from '../contract/review.ts';
import { Id, PlainDate } from '../contract/scalars.ts';
import { Type } from '../contract/schema.ts';
import { SpaceListing, toSpaceListing } from '../contract/space.ts';
import { localDate } from '../domain/calendar.ts';
import { isRefusal, refuse } from '../domain/decision.ts';
import { brandId } from '../domain/ids.ts';
import { NAME } from '../domain/limits.ts';
import { priceOf } from '../domain/pricing.ts';
import type { Queries } from '../queries/queries.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Tool, tool } from './tool.ts';

export type ToolDeps = {
  readonly commands: Commands;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly pricing: { readonly serviceFeePercent: number; readonly currency: string };
};

/** Unknown fields are refused, so that a model notices when it misspells one (docs/decisions/mcp.md). */
const Input = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });

const LIMIT = { default: 50, maximum: 500 } as const;

/** The tools of the MCP server. They use the same commands and queries as the REST routes. */
export function createTools({ commands, queries, clock, pricing }: ToolDeps): readonly Tool[] {
  const findSpaces = tool({
    name: 'find_spaces',
    title: 'Find spaces',
    description:
      'Lists bookable spaces with their booking window, event length, price and community. Start here to get a spaceId and today’s date in the time zone of each space.',
    input: Input({
      name: Type.Optional(
        Type.String({ maxLength: NAME.max, description: 'Only spaces or communities whose name contains this.' }),
      ),
      communityId: Type.Optional(Id('Only spaces of this community.')),
      includeInactive: Type.Optional(
        Type.Boolean({ description: 'Whether to include spaces that do not take bookings at the moment.' }),
      ),
    }),
    output: Type.Object({
      spaces: Type.Array(SpaceListing),
    }),
    access: { permission: 'ReadAvailability' },
    readOnly: true,
    async run({ name, communityId, includeInactive = false }, { caller }) {
      const [spaces, communities] = await Promise.all([
        queries.spaces.list(caller.account),
        queries.spaces.communities(),
      ]);
      const names = new Map(communities.map((community) => [community.communityId, community.name]));
      const wanted = name?.trim().toLowerCase() ?? '';
      const described = spaces.map((space) =>
        toSpaceListing(space, {
          communityName: names.get(space.communityId) ?? '',
          today: localDate(clock(), space.timeZone),
          totalPrice: priceOf(space.eventFee, pricing.serviceFeePercent).totalPrice,
          currency: pricing.currency,
        }),
      );
      return {
        spaces: described.filter(
          (space) =>
            (includeInactive || space.active) &&
            (communityId === undefined || space.communityId === communityId) &&
            (space.name.toLowerCase().includes(wanted) || space.communityName.toLowerCase().includes(wanted)),
        ),
      };
    },
  });

  const checkAvailability = tool({
    name: 'check_availability',
    title: 'Check availability',
    description: 'Shows which start hours of a space are available on a date. Check this before requesting a booking.',
    input: Input({
      spaceId: Id('From find_spaces.'),
      date: PlainDate('YYYY-MM-DD, today or later in the time zone of the space.'),
    }),
    output: AvailabilityResponse,
    access: { permission: 'ReadAvailability' },
    readOnly: true,
    advice: { ResourceNotFound: SEE_SPACES, ValidationError: 'Choose a later date.' },
    async run({ spaceId, date }, { caller }) {
      const found = await queries.availability({ account: caller.account, spaceId, date });
      return isRefusal(found) ? found : toAvailabilityResponse(found);
    },
  });

  const listBookings = tool({
    name: 'list_bookings',
    title: 'List bookings',
    description:
      'Lists bookings by date: for a community those of its spaces, for a brand its own. Filter by date and status. "more" is true if there are more bookings than the limit.',
    input: Input({
      startDate: Type.Optional(PlainDate('On or after this date.')),
      endDate: Type.Optional(PlainDate('On or before this date.')),
      status: Type.Optional(BookingStatus),
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: LIMIT.maximum,
          description: `The maximum number of bookings to return. Default: ${LIMIT.default}.`,
        }),
      ),
    }),
    output: Type.Object({ bookings: Type.Array(BookingDto), more: Type.Boolean() }),
    access: { permission: 'ReadBookings' },
    readOnly: true,
    async run({ limit = LIMIT.default, ...filter }, { caller }) {
      const { startDate, endDate } = filter;
      if (startDate !== undefined && endDate !== undefined && startDate > endDate)
        return refuse('ValidationError', 'startDate must not be after endDate.');
      const found = queries.bookings.list(caller.account, filter);
      const bookings = [];
      for await (const booking of found) {
        if (bookings.length === limit) return { bookings, more: true };
        bookings.push(toBookingDto(booking));
      }
      return { bookings, more: false };
    },
  });

  const requestBooking = tool({
    name: 'request_booking',
    title: 'Request a booking',
    description:
      'Requests a space for a date and start hour on behalf of the brand. The booking is Pending until the community answers, and the price is charged when it approves. Ask the user for confirmation before calling this. Repeating a call with the same idempotencyKey never books twice.',
    input: Input({
      ...SentDetails,
      date: PlainDate('YYYY-MM-DD, in the time zone of the space.'),
      idempotencyKey: IdempotencyKey('A unique text of your choice for this request. Reuse it when you retry.'),
    }),
    output: BookingDto,
    access: { permission: 'WriteBookings', scope: 'Brand' },
    readOnly: false,
    advice: {
      SlotUnavailable: 'Call check_availability to see which hours are available, and let the user choose another one.',
      BookingNotAllowed: 'Choose another date or space. Use a new idempotencyKey for a different request.',
      ResourceNotFound: SEE_SPACES,
      ScopeViolation: 'The user has to reconnect and choose a brand account.',
    },
    async run({ idempotencyKey, ...details }, { caller, correlationId }) {
      const command = { brandId: brandId(caller.account.id), details, idempotencyKey };
      const booking = await commands.bookings.request(command, { actor: actorOf(caller), correlationId });
      return isRefusal(booking) ? booking : toBookingDto(booking);
    },
  });

  const bookingHistory = tool({
    name: 'booking_history',
    title: 'Booking history',
    description: 'Lists what happened to a booking, in order: when, who did it, and what changed.',
    input: Input({ bookingId: Id('From list_bookings.') }),
    output: Type.Object({ history: Type.Array(HistoryEntry) }),
    access: { permission: 'ReadBookings' },
    readOnly: true,
    advice: { ResourceNotFound: 'Call list_bookings to see which bookings exist.' },
    async run({ bookingId }, { caller }) {
      const steps = await queries.bookingHistory(caller.account, bookingId);
      if (steps === undefined) return refuse('ResourceNotFound', `There is no booking ${bookingId}.`);
      return { history: historyEntries(steps) };
    },
  });

  const listReviews = tool({
    name: 'list_reviews',
    title: 'List reviews',
    description:
      'Lists the reviews of a community. A community can read its own, a brand those of communities where it has completed a booking.',
    input: Input({ communityId: Id('From find_spaces.') }),
    output: Type.Object({ reviews: Type.Array(ReviewDto) }),
    access: { permission: 'ReadReviews' },
    readOnly: true,
    async run({ communityId }, { caller }) {
      const found = await queries.reviews.list(caller.account, communityId);
      if (isRefusal(found)) return found;
      return { reviews: await Array.fromAsync(found, toReviewDto) };
    },
  });

  return [findSpaces, checkAvailability, listBookings, requestBooking, bookingHistory, listReviews];
}

const SEE_SPACES = 'Call find_spaces to see which spaces exist.';
