import { readFileSync } from 'node:fs';
import fastJson from 'fast-json-stringify';
import Fastify from 'fastify';
import { request as send } from 'undici';
import { validatorCompiler } from '../../src/api/validation.ts';
import { AvailabilityQuery, AvailabilityResponse, SpaceParams } from '../../src/contract/availability.ts';
import { BookingDto, CreateBooking } from '../../src/contract/booking.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';

// Routes with the schemas and payloads of the service, and nothing behind them but one durable append per booking and, if there is
// a receiver, one POST: the cost of Fastify, the disk and the sockets alone.

const timeSlots = Array.from({ length: 23 }, (_, hour) => ({ hour, label: `${hour}:00 AM`, isAvailable: hour > 2 }));
const availability = { spaceId: 1, spaceName: 'Hall 0', windowStart: 0, windowEnd: 23, durationHours: 1, timeSlots };

const app = Fastify();
app.setValidatorCompiler(validatorCompiler);
app.get('/healthz', async () => ({ status: 'ok' }));
app.get<{ Querystring: { date: string } }>(
  '/api/v1/spaces/:spaceId/availability',
  { schema: { params: SpaceParams, querystring: AvailabilityQuery, response: { 200: AvailabilityResponse } } },
  async (request, reply) => reply.send({ ...availability, date: request.query.date }),
);

const { BARE_LIST } = process.env;
if (BARE_LIST !== undefined) {
  const bookings: readonly object[] = JSON.parse(readFileSync(BARE_LIST, 'utf8'));
  const stringify = fastJson(BookingDto);
  app.get('/api/v1/bookings', async (_request, reply) => {
    const text = `[${bookings.map(stringify).join(',')}]`;
    return reply.type('application/json; charset=utf-8').send(text);
  });
}

const { BARE_LOG, BARE_RECEIVER } = process.env;
if (BARE_LOG !== undefined) {
  const log = await openSqliteEventStore({ path: BARE_LOG });
  let id = 0;
  app.post<{ Body: { spaceId: number; startTime: string; startHour: number } }>(
    '/api/v1/bookings',
    { schema: { body: CreateBooking, response: { 201: BookingDto } } },
    async (request, reply) => {
      id += 1;
      const { spaceId, startTime: date, startHour } = request.body;
      const facts = { id, spaceId, spaceName: 'Hall 0', date, startHour, endHour: startHour + 1, status: 'Pending' };
      const booking = { ...facts, totalPrice: 483, createdAt: '2026-01-01T00:00:00.000Z' };
      // About the size of a booking's event.
      const event = {
        type: 'Booked',
        data: { ...booking, more: 'x'.repeat(500) },
        metadata: { more: 'x'.repeat(250) },
      };
      await log.append(`booking-${id}`, [event], { expectedRevision: 'none' });
      if (BARE_RECEIVER !== undefined) void post(BARE_RECEIVER, JSON.stringify(event.data));
      return reply.code(201).send(booking);
    },
  );
}

async function post(url: string, body: string): Promise<void> {
  const response = await send(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  await response.body.dump();
}

await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) });
