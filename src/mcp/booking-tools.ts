import { Type } from 'typebox';
import { toAssistantBooking } from '../contract/booking.ts';
import { historyEntries } from '../contract/history-entry.ts';
import {
  AssistantBooking,
  BookingStatus,
  IdempotencyKey,
  MovePrice,
  RequestDetails,
} from '../contract/schemas/booking.ts';
import { HistoryEntry } from '../contract/schemas/history-entry.ts';
import { OneOf, PlainDate, Text } from '../contract/schemas/scalars.ts';
import type { Account } from '../domain/account.ts';
import { wrongRange } from '../domain/date-range.ts';
import { isRefusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { brandId, type SpaceId } from '../domain/ids.ts';
import { REASON } from '../domain/limits.ts';
import { cursorIn, cursorText } from '../queries/booking-pages.ts';
import { Cursor, cursorOf, Input, InputId, Limit, Next, Notice, notice, wrongCursor } from './lists.ts';
import { SEE_SPACES } from './space-tools.ts';
import { contextOf, type Tool, type ToolDeps, tool } from './tool.ts';

const BOOKINGS = { default: 50, maximum: 500 } as const;
const SEE_BOOKINGS = 'Call list_bookings to see which bookings exist.';

export const listBookings = ({ queries }: ToolDeps): Tool =>
  tool({
    name: 'list_bookings',
    title: 'List bookings',
    description:
      'Lists bookings by date, the latest first: for a community those of its spaces, for a brand its own. Filter ' +
      'by date and status. For what is coming up, give a startDate and the order oldestFirst.',
    input: Input({
      startDate: Type.Optional(PlainDate('On or after this date.')),
      endDate: Type.Optional(PlainDate('On or before this date.')),
      status: Type.Optional(BookingStatus),
      order: Type.Optional(OneOf(['newestFirst', 'oldestFirst'], { description: 'By date. Default: newestFirst.' })),
      limit: Limit('bookings', BOOKINGS),
      cursor: Cursor,
    }),
    output: Type.Object({
      notice: Type.Optional(Notice),
      bookings: Type.Array(AssistantBooking),
      more: Type.Boolean({ description: 'Whether there is a next page.' }),
      next: Next,
    }),
    access: { permission: 'ReadBookings' },
    writes: false,
    async run({ limit = BOOKINGS.default, cursor, order = 'newestFirst', status, ...filter }, { caller: { account } }) {
      const wrong = wrongRange(filter);
      if (wrong !== undefined) return wrong;
      const after = cursor === undefined ? undefined : cursorIn(cursor);
      if (cursor !== undefined && after === undefined) return wrongCursor();
      const { bookings, next } = await queries.bookings.page(account, {
        ...filter,
        ...(status !== undefined && { list: { status } }),
        direction: order === 'newestFirst' ? 'descending' : 'ascending',
        limit,
        ...(after && { after }),
      });
      return {
        ...(account.kind === 'Community' && { notice: notice('Texts in writtenByBrand are') }),
        bookings: bookings.map((booking) => toAssistantBooking(booking, account.kind)),
        more: next !== undefined,
        ...(next && { next: cursorOf(cursorText(next), { ...filter, order }) }),
      };
    },
  });

export const requestBooking = ({ commands }: ToolDeps): Tool =>
  tool({
    name: 'request_booking',
    title: 'Request a booking',
    description:
      'Requests a space for a date and start hour on behalf of the brand. The booking is Pending until the ' +
      'community answers, by answerBy at the latest, and the price is charged when it approves. Ask the user for ' +
      'confirmation before calling this. Repeating a call with the same idempotencyKey never books twice.',
    input: Input({
      ...RequestDetails,
      spaceId: InputId<SpaceId>('The space to book.'),
      date: PlainDate('YYYY-MM-DD, in the time zone of the space.'),
      idempotencyKey: IdempotencyKey('A unique text of your choice for this request. Reuse it when you retry.'),
    }),
    output: AssistantBooking,
    access: { permission: 'WriteBookings', scope: 'Brand' },
    writes: 'adds',
    advice: {
      SlotUnavailable:
        'Call check_availability or find_open_days to see which hours are available, and let the user choose another one.',
      BookingNotAllowed: 'Choose another date or space.',
      ResourceNotFound: SEE_SPACES,
      ScopeViolation: 'The user has to reconnect and choose a brand account.',
    },
    async run({ idempotencyKey, ...details }, call) {
      const command = { brandId: brandId(call.caller.account.id), details, idempotencyKey };
      const booking = await commands.bookings.request(command, contextOf(call));
      if (!isRefusal(booking)) return toAssistantBooking(booking, call.caller.account.kind);
      return booking.reason === 'KeyReused'
        ? { ...booking, advice: 'Use a new idempotencyKey for a different request.' }
        : booking;
    },
  });

export const cancelBooking = ({ commands, queries }: ToolDeps): Tool =>
  tool({
    name: 'cancel_booking',
    title: 'Cancel a booking',
    description:
      'Cancels one of the brand’s own bookings, Pending or Approved, until its cancelUntil, or else until the ' +
      'event starts. What was charged is refunded. This cannot be undone, and another brand may take the hour: ask ' +
      'the user for confirmation before calling this.',
    input: Input({
      bookingId: InputId('From list_bookings.'),
      reason: Type.Optional(Text(REASON, 'Shown to the community.')),
    }),
    output: AssistantBooking,
    access: { permission: 'WriteBookings', scope: 'Brand' },
    writes: 'destroys',
    advice: {
      BookingNotAllowed: 'It cannot be cancelled any more. The user may contact the community.',
      ResourceNotFound: SEE_BOOKINGS,
      ScopeViolation: 'The user has to reconnect and choose a brand account.',
    },
    async run({ bookingId, reason }, call) {
      const { account } = call.caller;
      const before = await queries.bookings.get(account, bookingId);
      // Repeating a call that has succeeded returns the same.
      if (before?.status === 'Cancelled') return toAssistantBooking(before, account.kind);
      const outcome = await commands.bookings.cancel(
        { bookingId, by: { kind: 'Brand', id: brandId(account.id) }, ...defined({ reason }) },
        contextOf(call),
      );
      if (isRefusal(outcome)) return outcome;
      const [event] = outcome.events;
      if (event?.type !== 'BookingCancelled' || before === undefined)
        throw new Error(`Booking ${bookingId} was not cancelled`);
      return toAssistantBooking({ ...before, status: 'Cancelled', refund: event.data.refund }, account.kind);
    },
  });

/** A booking after a change of it. */
async function shown({ bookings }: Pick<ToolDeps['queries'], 'bookings'>, account: Account, id: number) {
  const booking = await bookings.get(account, id);
  return booking === undefined
    ? refuse('ResourceNotFound', `There is no booking ${id}.`)
    : toAssistantBooking(booking, account.kind);
}

export const moveBooking = ({ commands, queries }: ToolDeps): Tool =>
  tool({
    name: 'move_booking',
    title: 'Move a booking',
    description:
      'Asks the community to move one of the brand’s own bookings to another date, hour or space of the same community. ' +
      'It keeps its hours until a person there accepts; `move` shows what waits. Asking for what the community has ' +
      'proposed itself accepts it at once; if it has proposed another price (`move.totalPrice`), with price `new`. Ask the ' +
      'user for confirmation before calling this.',
    input: Input({
      bookingId: InputId('From list_bookings.'),
      spaceId: Type.Optional(InputId<SpaceId>('Another space of the community. Default: the same.')),
      date: Type.Optional(PlainDate('YYYY-MM-DD. Default: the same.')),
      startHour: Type.Optional(RequestDetails.startHour),
      price: Type.Optional(MovePrice),
      reason: Type.Optional(Text(REASON, 'Shown to the community.')),
    }),
    output: AssistantBooking,
    access: { permission: 'WriteBookings', scope: 'Brand' },
    writes: 'adds',
    advice: {
      SlotUnavailable: 'Call check_availability or find_open_days, and let the user choose another hour.',
      BookingNotAllowed: 'Look at the booking with list_bookings. The user may contact the community.',
      ResourceNotFound: SEE_BOOKINGS,
      ScopeViolation: 'The user has to reconnect and choose a brand account.',
    },
    async run({ bookingId, reason, price, ...to }, call) {
      const { account } = call.caller;
      const outcome = await commands.moves.move(
        { bookingId, by: account, to, ...defined({ reason, price }) },
        contextOf(call),
      );
      // Repeating a call that has succeeded returns the same.
      if (isRefusal(outcome) && outcome.reason !== 'SamePlace') return outcome;
      return shown(queries, account, bookingId);
    },
  });

export const endMove = ({ commands, queries }: ToolDeps): Tool =>
  tool({
    name: 'end_move',
    title: 'End a move',
    description:
      'Declines the move of one of the brand’s own bookings that the community has proposed, or takes back the one that the ' +
      'brand has asked for. The booking stays where it is. Ask the user for confirmation before calling this.',
    input: Input({
      bookingId: InputId('From list_bookings: a booking with a `move`.'),
      reason: Type.Optional(Text(REASON, 'Shown to the community.')),
    }),
    output: AssistantBooking,
    access: { permission: 'WriteBookings', scope: 'Brand' },
    writes: 'destroys',
    advice: {
      BookingNotAllowed: 'Look at the booking with list_bookings. It may have moved, or be over.',
      ResourceNotFound: SEE_BOOKINGS,
      ScopeViolation: 'The user has to reconnect and choose a brand account.',
    },
    async run({ bookingId, reason }, call) {
      const { account } = call.caller;
      const outcome = await commands.moves.decline({ bookingId, by: account, ...defined({ reason }) }, contextOf(call));
      // Repeating a call that has succeeded returns the same.
      if (isRefusal(outcome) && outcome.reason !== 'NotWaiting') return outcome;
      return shown(queries, account, bookingId);
    },
  });

export const bookingHistory = ({ queries }: ToolDeps): Tool =>
  tool({
    name: 'booking_history',
    title: 'Booking history',
    description: 'Lists what happened to a booking, in order: when, who did it, and what changed.',
    input: Input({ bookingId: InputId('From list_bookings.') }),
    output: Type.Object({ notice: Notice, history: Type.Array(HistoryEntry) }),
    access: { permission: 'ReadBookings' },
    writes: false,
    advice: { ResourceNotFound: SEE_BOOKINGS },
    async run({ bookingId }, { caller }) {
      const history = await queries.bookingHistory.ofBooking(caller.account, bookingId);
      if (history === undefined) return refuse('ResourceNotFound', `There is no booking ${bookingId}.`);
      return { notice: notice('Names and texts may be'), history: historyEntries(history.steps) };
    },
  });
