import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import { DatabaseError, Pool } from 'pg';

/**
 * What the service is compared with: bookings as rows of PostgreSQL, changed in place, behind the same requests. It checks the key, the
 * space and that the hour is free, stores the booking with a row of an outbox, and commits durably. It has no history, no prices by terms, no deliveries and no read models.
 */
const pool = new Pool({ connectionString: process.env.POSTGRES_URL, max: 16 });
const app = Fastify({ logger: false });
const brands = new WeakMap<object, number>();

app.addHook('onRequest', async (request, reply) => {
  if (request.url === '/readyz') return;
  const key = String(request.headers.authorization).replace('Bearer ', '');
  const hash = createHash('sha256').update(key).digest();
  const text = 'SELECT brand_id FROM api_keys WHERE hash = $1 AND revoked_at IS NULL';
  const { rows } = await pool.query<{ brand_id: number }>({ name: 'key', text, values: [hash] });
  if (rows[0] === undefined) return reply.code(401).send({ message: 'Unknown key' });
  brands.set(request, rows[0].brand_id);
});

app.get('/readyz', async () => {
  await pool.query('SELECT 1');
  return { status: 'ready' };
});

const BOOKING = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    spaceId: { type: 'integer' },
    date: { type: 'string' },
    startHour: { type: 'integer' },
    durationHours: { type: 'integer' },
    status: { type: 'string' },
    totalPrice: { type: 'integer' },
  },
};
const REQUEST = {
  type: 'object',
  required: ['spaceId', 'startTime', 'startHour'],
  additionalProperties: false,
  properties: {
    spaceId: { type: 'integer' },
    startTime: { type: 'string', format: 'date' },
    startHour: { type: 'integer', minimum: 0, maximum: 23 },
  },
};

type Wanted = { readonly spaceId: number; readonly startTime: string; readonly startHour: number };

app.post<{ Body: Wanted }>(
  '/api/v1/bookings',
  { schema: { body: REQUEST, response: { 201: BOOKING } } },
  async (request, reply) => {
    const { spaceId, startTime, startHour } = request.body;
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      const spaces = await client.query<{ community_id: number; fee: string }>({
        name: 'space',
        text: 'SELECT community_id, fee FROM spaces WHERE id = $1 AND opens <= $2 AND closes > $2',
        values: [spaceId, startHour],
      });
      const [space] = spaces.rows;
      if (space === undefined) throw new NotFound();
      const inserted = await client.query<{ id: string; status: string }>({
        name: 'booking',
        text: `INSERT INTO bookings (space_id, community_id, brand_id, date, start_hour, duration, status, total, expires_at)
          VALUES ($1, $2, $3, $4, $5, 1, 'Pending', $6, now() + interval '24 hours') RETURNING id, status`,
        values: [spaceId, space.community_id, brands.get(request), startTime, startHour, space.fee],
      });
      const [booking] = inserted.rows;
      const body = JSON.stringify({ ...request.body, id: booking?.id });
      const outbox = `INSERT INTO outbox (booking_id, type, body) VALUES ($1, 'BookingRequested', $2)`;
      await client.query({ name: 'outbox', text: outbox, values: [booking?.id, body] });
      await client.query('COMMIT');
      reply.code(201);
      const { status } = booking ?? {};
      return {
        id: Number(booking?.id),
        spaceId,
        date: startTime,
        startHour,
        durationHours: 1,
        status,
        totalPrice: Number(space.fee),
      };
    } catch (error) {
      await client.query('ROLLBACK');
      if (error instanceof NotFound) return reply.code(404).send({ message: 'No such space or hour' });
      const isTaken = error instanceof DatabaseError && error.code === '23P01';
      if (isTaken) return reply.code(409).send({ message: 'The hour is taken' });
      throw error;
    } finally {
      client.release();
    }
  },
);

app.get<{ Params: { id: string }; Querystring: { date: string } }>(
  '/api/v1/spaces/:id/availability',
  async ({ params, query }) => {
    const { rows } = await pool.query<{ start_hour: number; duration: number }>({
      name: 'availability',
      text: `SELECT start_hour, duration FROM bookings
        WHERE space_id = $1 AND date = $2 AND status IN ('Pending', 'Approved')`,
      values: [params.id, query.date],
    });
    const taken = new Set(
      rows.flatMap(({ start_hour, duration }) => Array.from({ length: duration }, (_, i) => start_hour + i)),
    );
    const hours = Array.from({ length: 24 }, (_, hour) => ({ hour, isAvailable: !taken.has(hour) }));
    return { spaceId: Number(params.id), date: query.date, hours };
  },
);

class NotFound extends Error {}

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
