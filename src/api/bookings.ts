import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { Commands } from '../commands/commands.ts';
import { detailsOfRequest, moveOf, toBookingDto } from '../contract/booking.ts';
import { historyEntries } from '../contract/history-entry.ts';
import {
  BookingDto,
  BookingParams,
  BookingsQuery,
  CreateBooking,
  DeclineMove,
  IdempotencyHeaders,
  MoveBooking,
} from '../contract/schemas/booking.ts';
import { errors } from '../contract/schemas/errors.ts';
import { HistoryEntry, HistoryQuery } from '../contract/schemas/history-entry.ts';
import type { Account } from '../domain/account.ts';
import { momentOf } from '../domain/calendar.ts';
import { wrongRange } from '../domain/date-range.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { type BookingId, brandId } from '../domain/ids.ts';
import type { Queries } from '../queries/queries.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { contextOf } from './access.ts';
import { createBookingTexts } from './booking-texts.ts';
import { digestOf, entityTagsOf, sendTagged, taggedRoute } from './entity-tags.ts';
import { sendError, sendRefusal } from './errors.ts';
import { sendList } from './json-array.ts';

const Bookings = Type.Array(BookingDto);
const History = Type.Array(HistoryEntry);

export const bookingRoutes =
  (deps: {
    readonly commands: Commands;
    readonly queries: Queries;
    readonly release: string;
  }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { commands, queries, release } = deps;
    const textsOf = createBookingTexts(queries.bookings);
    const bookingTagOf = entityTagsOf(release, BookingDto);
    const historyTagOf = entityTagsOf(release, History);

    app.get(
      '/bookings',
      {
        config: { access: { permission: 'ReadBookings' } },
        schema: {
          operationId: 'listBookings',
          querystring: BookingsQuery,
          response: { 200: Bookings, ...errors() },
        },
      },
      async (request, reply) => {
        const wrong = wrongRange(request.query);
        if (wrong !== undefined) return sendRefusal(reply, wrong);
        return sendList(request, reply, {
          pages: queries.bookings.pages(request.caller.account, request.query),
          textsOf,
        });
      },
    );

    app.post(
      '/bookings',
      {
        config: { access: { permission: 'WriteBookings', scope: 'Brand' } },
        schema: {
          operationId: 'createBooking',
          headers: IdempotencyHeaders,
          body: CreateBooking,
          response: { 201: BookingDto, ...errors(404, 422) },
        },
      },
      async (request, reply) => {
        const command = {
          brandId: brandId(request.caller.account.id),
          details: detailsOfRequest(request.body),
          ...defined({ idempotencyKey: request.headers['idempotency-key'] }),
        };
        const context = contextOf(request);
        const booking = await commands.bookings.request(command, context);
        if (isRefusal(booking)) return sendRefusal(reply, booking);
        return reply.code(201).send(toBookingDto(booking));
      },
    );

    app.post(
      '/bookings/:id/move',
      {
        config: { access: { permission: 'WriteBookings' } },
        schema: {
          operationId: 'moveBooking',
          params: BookingParams,
          body: MoveBooking,
          response: { 200: BookingDto, ...errors(404, 422) },
        },
      },
      async (request, reply) => {
        const { id } = request.params;
        const { account } = request.caller;
        const command = { bookingId: id, by: account, ...moveOf(request.body) };
        const outcome = await commands.moves.move(command, contextOf(request));
        return isRefusal(outcome) ? sendRefusal(reply, outcome) : reply.send(await shown(account, id));
      },
    );

    app.post(
      '/bookings/:id/move/decline',
      {
        config: { access: { permission: 'WriteBookings' } },
        schema: {
          operationId: 'declineMove',
          params: BookingParams,
          body: DeclineMove,
          response: { 200: BookingDto, ...errors(404, 422) },
        },
      },
      async (request, reply) => {
        const { id } = request.params;
        const { account } = request.caller;
        const command = { bookingId: id, by: account, ...defined({ reason: request.body.reason }) };
        const outcome = await commands.moves.decline(command, contextOf(request));
        return isRefusal(outcome) ? sendRefusal(reply, outcome) : reply.send(await shown(account, id));
      },
    );

    /** A booking after a change of it. @throws {Unavailable} if the read models do not show it */
    async function shown(account: Account, id: BookingId): Promise<BookingDto> {
      const booking = await queries.bookings.get(account, id);
      if (booking === undefined) throw new Unavailable(`The read models do not show booking ${id}`);
      return toBookingDto(booking);
    }

    app.get(
      '/bookings/:id',
      taggedRoute('ReadBookings', 'getBooking', { params: BookingParams }, BookingDto, 404),
      async (request, reply) => {
        const { id } = request.params;
        const readable = await queries.bookings.get(request.caller.account, id);
        if (readable === undefined) return sendError(reply, 'ResourceNotFound', `There is no booking ${id}.`);
        const booking = toBookingDto(readable);
        return sendTagged(request, reply, bookingTagOf(request, digestOf(booking)), booking);
      },
    );

    app.get(
      '/bookings/:id/history',
      taggedRoute(
        'ReadBookings',
        'getBookingHistory',
        { params: BookingParams, querystring: HistoryQuery },
        History,
        404,
      ),
      async (request, reply) => {
        const { id } = request.params;
        const asOf = request.query.asOf === undefined ? undefined : momentOf(request.query.asOf);
        const history = await queries.bookingHistory.ofBooking(request.caller.account, id, defined({ asOf }));
        if (history === undefined) return sendError(reply, 'ResourceNotFound', `There is no booking ${id}.`);
        const entries = historyEntries(history.steps);
        // Hash the answer itself: it contains names, which change without an event of the booking.
        const entityTag = historyTagOf(request, digestOf(entries));
        return sendTagged(request, reply, entityTag, entries);
      },
    );
  };
