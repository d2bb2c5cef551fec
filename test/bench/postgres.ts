import { createHash, randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { startNode } from '../service/node-process.ts';
import type { Checkout } from './checkout.ts';
import { processorOf } from './processor.ts';

const SPACES = 4;
const KEY = 'the key of the bench';

const SCHEMA = `
  CREATE EXTENSION btree_gist;
  CREATE TABLE spaces (
    id int PRIMARY KEY, community_id int NOT NULL, name text NOT NULL, opens int NOT NULL, closes int NOT NULL,
    fee bigint NOT NULL, time_zone text NOT NULL
  );
  INSERT INTO spaces SELECT i, 1, 'Hall ' || i, 0, 23, 42000, 'Asia/Tokyo' FROM generate_series(1, ${SPACES}) i;
  CREATE TABLE api_keys (hash bytea PRIMARY KEY, brand_id int NOT NULL, revoked_at timestamptz);
  CREATE TABLE bookings (
    id bigserial PRIMARY KEY, space_id int NOT NULL REFERENCES spaces, community_id int NOT NULL, brand_id int NOT NULL,
    date date NOT NULL, start_hour int NOT NULL, duration int NOT NULL, status text NOT NULL, total bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz NOT NULL,
    EXCLUDE USING gist (space_id WITH =, date WITH =, int4range(start_hour, start_hour + duration) WITH &&)
      WHERE (status IN ('Pending', 'Approved'))
  );
  CREATE INDEX ON bookings (community_id, date, start_hour, id);
  CREATE INDEX ON bookings (brand_id, date, start_hour, id);
  CREATE INDEX ON bookings (community_id, status, date, start_hour, id);
  CREATE INDEX ON bookings (brand_id, status, date, start_hour, id);
  CREATE INDEX ON bookings (expires_at) WHERE status = 'Pending';
  CREATE TABLE outbox (
    id bigserial PRIMARY KEY, booking_id bigint NOT NULL, type text NOT NULL, body jsonb NOT NULL, sent_at timestamptz
  );
`;

/**
 * A plain service on PostgreSQL (`postgres-service.ts`) in the place of a checkout, for measurements that only book and read availability. Its
 * processor time is without that of the server.
 * @param server a server of your own; each store is a database of it, which is dropped
 */
export function openPostgres(server: string): Checkout {
  const notThere = () => Promise.reject(new Error('The service on PostgreSQL only books and shows availability'));

  async function onServer(database: URL, work: (client: Client) => Promise<unknown>): Promise<void> {
    const client = new Client({ connectionString: database.href });
    await client.connect();
    try {
      await work(client);
    } finally {
      await client.end();
    }
  }

  return {
    root: new URL('../..', import.meta.url).pathname,
    venueCommand: notThere,
    addUser: notThere,

    async withVenue(work) {
      const [admin, store] = [new URL(server), new URL(server)];
      const name = `bench_${randomUUID().slice(0, 8)}`;
      store.pathname = `/${name}`;
      await onServer(admin, (client) => client.query(`CREATE DATABASE ${name}`));
      try {
        await onServer(store, async (client) => {
          await client.query(SCHEMA);
          await client.query('INSERT INTO api_keys VALUES ($1, 1)', [createHash('sha256').update(KEY).digest()]);
        });
        const spaceIds = Array.from({ length: SPACES }, (_, index) => index + 1);
        return await work({ settings: { POSTGRES_URL: store.href }, key: KEY, spaceIds, nextDay: 2 });
      } finally {
        await onServer(admin, (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
      }
    },

    async withService(venue, work, env = {}) {
      const service = await startNode('test/bench/postgres-service.ts', '/readyz', { ...venue.settings, ...env });
      try {
        return await work({ ...service, ...processorOf(service.pid), venue });
      } finally {
        await service.end('SIGKILL');
      }
    },

    async close() {},
  };
}
