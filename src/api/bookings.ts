import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import fastJson from 'fast-json-stringify';
import { Type } from 'typebox';
import { actorOf } from '../auth/caller.ts';
import type { Commands } from '../commands/commands.ts';
import {
  BookingDto,
  BookingParams,
  BookingsQuery,
  CreateBooking,
  detailsOfRequest,
  IdempotencyHeaders,
  publicBooking,
  toBookingDto,
} from '../contract/booking.ts';
import { errors } from '../contract/errors.ts';
import { HistoryEntry, historyEntries } from '../contract/history-entry.ts';
import type { HistoryStep } from '../domain/booking-history.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { brandId } from '../domain/ids.ts';
import type { Queries } from '../queries/queries.ts';
import { sendError, sendRefusal } from './errors.ts';
import { sendJsonArray } from './json-array.ts';

const stringifyBooking = fastJson(BookingDto);

export const bookingRoutes =
  ({ commands, queries }: { readonly commands: Commands; readonly queries: Queries }): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/bookings',
      {
        config: { access: { permission: 'ReadBookings' } },
        schema: {
          summary: 'List bookings',
          description: 'A Community caller sees the bookings of its spaces, a Brand caller its own. Not paginated.',
          tags: ['Bookings'],
          querystring: BookingsQuery,
          response: { 200: Type.Array(BookingDto), ...errors(400, 401, 403, 500) },
        },
      },
      async (request, reply) => {
        const found = queries.bookings.list(request.caller.account, request.query);
        return sendJsonArray(reply, found, (booking) => stringifyBooking(publicBooking(booking)));
      },
    );

    app.post(
      '/bookings',
      {
        config: { access: { permission: 'WriteBookings', scope: 'Brand' } },
        schema: {
          summary: 'Request a booking',
          description: 'The booking is Pending until the community approves or declines it.',
          tags: ['Bookings'],
          headers: IdempotencyHeaders,
          body: CreateBooking,
          response: { 201: BookingDto, ...errors(400, 401, 403, 404, 422, 500) },
        },
      },
      async (request, reply) => {
        const command = {
          brandId: brandId(request.caller.account.id),
          details: detailsOfRequest(request.body),
          ...defined({ idempotencyKey: request.headers['idempotency-key'] }),
        };
        const context = { actor: actorOf(request.caller), correlationId: request.id };
        const booking = await commands.bookings.request(command, context);
        if (isRefusal(booking)) return sendRefusal(reply, booking);
        return reply.code(201).send(toBookingDto(booking));
      },
    );

    app.get(
      '/bookings/:id/history',
      {
        config: { access: { permission: 'ReadBookings' } },
        schema: {
          summary: 'Get the history of a booking',
          tags: ['Bookings'],
          params: BookingParams,
          response: { 200: Type.Array(HistoryEntry), ...errors(400, 401, 403, 404, 500) },
        },
      },
      async (request, reply) => {
        const { id } = request.params;
        const steps: readonly HistoryStep[] | undefined = await queries.bookingHistory(request.caller.account, id);
        if (steps === undefined) return sendError(reply, 'ResourceNotFound', `There is no booking ${id}.`);
        return reply.send(historyEntries(steps));
      },
    );
  };
