import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { type Environment, type NodeProcess, runNode, startNode } from '../service/node-process.ts';
import { load } from './load.ts';
import { type Processor, processorOf } from './processor.ts';
import { bookingRequests } from './requests.ts';

const SPACES = 4;

/** A store of a checkout, with spaces to book and the key of a brand. */
export type Venue = {
  readonly settings: Environment;
  readonly key: string;
  readonly spaceIds: readonly number[];
  /** The first day without bookings. */
  nextDay: number;
};

export type Service = NodeProcess & Processor & { readonly venue: Venue };

/** What a store holds when a measurement begins: bookings that have been requested, of which webhooks may have to be told. */
type Content = { readonly bookings: number; readonly hooks?: readonly string[] };

/** A checkout of the service, which is used from outside only: HTTP, command line, files and `/proc`. */
export type Checkout = {
  /** Its folder. */
  readonly root: string;
  /** Makes a store and runs `work` on it. */
  withVenue<T>(work: (venue: Venue) => Promise<T>, content?: Content): Promise<T>;
  /** Starts a service, runs `work`, and kills the service. */
  withService<T>(venue: Venue, work: (service: Service) => Promise<T>, env?: Environment): Promise<T>;
  /** Runs the command line. @returns the JSON that it prints */
  venueCommand(venue: Pick<Venue, 'settings'>, ...args: readonly string[]): Promise<unknown>;
  /** Adds a user to an account, which is named as on the command line. */
  addUser(venue: Pick<Venue, 'settings'>, user: SignIn, ...account: readonly string[]): Promise<void>;
  /** Removes the stores. */
  close(): Promise<void>;
};

type SignIn = { readonly email: string; readonly password: string };

/** Without an event store, the embedded one. */
export type Servers = { readonly eventStore?: string; readonly mongo: string };

/** @param root the folder of the checkout, with its packages */
export async function openCheckout(root: string, servers?: Servers): Promise<Checkout> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-bench-'));
  const filled = new Map<string, Promise<Venue>>();
  const databases: string[] = [];

  function newStore(): Environment {
    const name = `bench-${randomUUID().slice(0, 8)}`;
    const settings = {
      DATA_DIR: join(folder, name),
      DEMO: 'false',
      LOG_LEVEL: 'warn',
      WEBHOOKS_ALLOW_PRIVATE: 'true',
    };
    if (servers === undefined) return settings;
    const mongo = new URL(servers.mongo);
    // Users are looked up in the database that the URL names, unless it says otherwise.
    if (mongo.username !== '' && !mongo.searchParams.has('authSource'))
      mongo.searchParams.set('authSource', mongo.pathname.slice(1) || 'admin');
    mongo.pathname = `/${name}`;
    databases.push(mongo.href);
    return {
      ...settings,
      ...(servers.eventStore !== undefined && { EVENTSTORE_URL: servers.eventStore, EVENTSTORE_PREFIX: name }),
      MONGODB_URL: mongo.href,
      SECRET_KEY: randomBytes(32).toString('base64'),
    };
  }

  async function venueCommand({ settings }: Pick<Venue, 'settings'>, ...args: readonly string[]): Promise<unknown> {
    const { code, stdout, stderr } = await runNode('src/cli.js', [...args, '--json'], settings, { root });
    if (code !== 0) throw new Error(`venue ${args.join(' ')}: ${stderr || stdout}`);
    return JSON.parse(stdout);
  }

  async function addUser({ settings }: Pick<Venue, 'settings'>, user: SignIn, ...account: readonly string[]) {
    const args = ['user', 'add', '--email', user.email, ...account];
    const { code, stderr } = await runNode('src/cli.js', args, settings, { root, input: user.password });
    if (code !== 0) throw new Error(`venue user add: ${stderr}`);
  }

  async function withService<T>(
    venue: Venue,
    work: (service: Service) => Promise<T>,
    env: Environment = {},
  ): Promise<T> {
    const service = await startNode('src/main.js', '/readyz', { ...venue.settings, ...env }, root);
    try {
      return await work({ ...service, ...processorOf(service.pid), venue });
    } finally {
      await service.end('SIGKILL');
    }
  }

  async function makeVenue({ bookings, hooks = [] }: Content): Promise<Venue> {
    const settings = newStore();
    const command = (...args: readonly string[]) => venueCommand({ settings }, ...args);
    // In a zone without clock changes, and open by the hour.
    await command('community', 'add', '--name', 'Bench', '--time-zone', 'Asia/Tokyo');
    const terms = ['--window', '0-23', '--duration', '1', '--fee', '420.00'];
    const spaceIds: number[] = [];
    for (let i = 0; i < SPACES; i += 1)
      spaceIds.push(
        Number(field(await command('space', 'add', '--community', '1', '--name', `Hall ${i}`, ...terms), 'id')),
      );
    await command('brand', 'add', '--name', 'Bench');
    const key = String(field(await command('api-key', 'issue', '--brand', '1'), 'key'));
    // In the time zone of the spaces it may already be tomorrow.
    const venue: Venue = { settings, key, spaceIds, nextDay: 2 };
    // Without the role `webhooks`, deliveries have to wait.
    if (bookings > 0)
      await withService(
        venue,
        async (service) => {
          for (const url of hooks) await registerWebhook(service, url);
          await fill(service, bookings);
          await service.end('SIGTERM');
        },
        { ROLES: 'api,projector' },
      );
    return venue;
  }

  return {
    root,
    venueCommand,
    withService,
    addUser,

    async withVenue(work, content = { bookings: 0 }) {
      if (servers !== undefined) return work(await makeVenue(content));
      // On the embedded engines a store is made once and then copied.
      const original = await filled.getOrInsertComputed(JSON.stringify(content), () => makeVenue(content));
      const settings = newStore();
      const { DATA_DIR = '' } = settings;
      await cp(original.settings.DATA_DIR ?? '', DATA_DIR, { recursive: true });
      try {
        return await work({ ...original, settings });
      } finally {
        await rm(DATA_DIR, { recursive: true, force: true });
      }
    },

    async close() {
      await rm(folder, { recursive: true, force: true });
      for (const url of databases) {
        const client = await MongoClient.connect(url);
        await client.db().dropDatabase();
        await client.close();
      }
    },
  };
}

/** Books exactly so many slots, as fast as the service takes them. */
async function fill({ url, venue }: Service, bookings: number): Promise<void> {
  const connections = 64;
  // The sender prepares a request more than it sends on each connection.
  const requests = bookingRequests(venue, bookings + connections);
  const { statuses, errors } = await load({ url, key: venue.key, connections, seconds: 0, amount: bookings, requests });
  if (statuses[201] !== bookings || errors > 0) throw new Error(`Responses were ${JSON.stringify(statuses)}`);
}

export async function registerWebhook({ url, venue }: Service, receiver: string, key = venue.key): Promise<void> {
  const response = await fetch(`${url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver, events: 15 }),
  });
  if (response.status !== 201) throw new Error(`The registration was answered with ${response.status}`);
}

const field = (json: unknown, name: string): unknown => Object.entries(json ?? {}).find(([key]) => key === name)?.[1];

/** Compiles the library that makes every fsync of a process 20 ms slower; undefined where that is impossible. */
export function slowDiskIn(folder: string): Environment | undefined {
  const library = join(folder, 'slow-fsync.so');
  const source = new URL('slow-fsync.c', import.meta.url).pathname;
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  return process.platform === 'linux' && compiled.status === 0 ? { LD_PRELOAD: library } : undefined;
}
