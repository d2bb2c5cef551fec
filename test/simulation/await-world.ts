import { pino } from 'pino';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import type { Core } from '../../src/core.ts';
import { localDate } from '../../src/domain/calendar.ts';
import { type BrandId, type CommunityId, cents, type SpaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { type DocumentsDisk, newDocumentsDisk, openMemoryDocuments } from './memory-documents.ts';
import { type EventsDisk, newEventsDisk, openMemoryEvents } from './memory-events.ts';
import { Calendar, DATA_DIR, Process } from './process.ts';
import { seedRandomness } from './seeded-crypto.ts';
import { runUntil, virtualNow } from './virtual-time.ts';

/** What two processes of the service share, and what arrives outside. */
export type World = {
  readonly calendar: Calendar;
  readonly events: EventsDisk;
  readonly documents: DocumentsDisk;
  /** The bodies of deliveries, in the order in which they arrived. */
  readonly delivered: string[];
  /** The `Message-ID` of every mail that was sent. */
  readonly mailed: string[];
  /** Every lease that a process has acquired. */
  readonly leases: { readonly name: string; readonly holder: Process; readonly isHeld: () => boolean }[];
  /** The names of leases that two processes held at once. */
  readonly heldTwice: string[];
};

/** A hook around every call that a process makes to its stores. It may throw, and may never resolve. */
export type Watching = {
  readonly before: (process: Process, method: string, of: string) => unknown;
  readonly after: (process: Process, method: string, of: string) => unknown;
};

const BEGIN = Date.parse('2027-03-02T09:00:00Z');
const FILLED_AT = Date.parse('2027-03-01T09:00:00Z');
export const TODAY = localDate(BEGIN, 'UTC');
export const TOMORROW = localDate(BEGIN + 86_400_000, 'UTC');
export const MAIL_HOST = 'venue.example';
const OPERATOR = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const logger = pino({ level: process.env.LOG_LEVEL ?? 'silent' });
const config = readConfig({
  DATA_DIR,
  DEMO: 'false',
  SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
  WEBHOOKS_ALLOW_PRIVATE: 'true',
  SMTP_URL: 'smtp://127.0.0.1',
  MAIL_FROM: `Bookings <bookings@${MAIL_HOST}>`,
  ROLES: 'projector,webhooks,scheduler,mail',
});

/** Another world that begins with the same stores. */
export const copyOf = ({ events, documents }: Pick<World, 'events' | 'documents'>, begin = BEGIN): World => ({
  calendar: new Calendar(begin),
  events: {
    log: [...events.log],
    streams: new Map(Array.from(events.streams, ([stream, some]) => [stream, [...some]])),
    end: events.end,
    waiting: new Set(),
  },
  documents: {
    collections: new Map(
      Array.from(documents.collections, ([name, each]) => [name, { ...each, entries: new Map(each.entries) }]),
    ),
    checkpoints: new Map(documents.checkpoints),
  },
  delivered: [],
  mailed: [],
  leases: [],
  heldTwice: [],
});

/** The answer to a call of a dead process. */
const forever = new Promise<never>(() => {});

/**
 * Starts a process in a world. Rejects if a store fails meanwhile.
 * @param begun called at once
 */
export async function startIn(
  world: World,
  index: number,
  { before, after }: Watching,
  begun: (process: Process) => void = () => {},
): Promise<Process> {
  const watch = (process: Process) => ({
    before: (method: string, of: string) => (process.isDead ? forever : before(process, method, of)),
    after: (method: string, of: string) => (process.isDead ? forever : after(process, method, of)),
  });
  const process = new Process(index, 0, {
    openEvents: (each) => openMemoryEvents(world.events, { watch: watch(each) }),
    openDocuments: (each) => openMemoryDocuments(world.documents, { watch: watch(each) }),
    async post(each, { body }) {
      await each.pass();
      world.delivered.push(body);
      return { status: 200, duration: 0, answer: '' };
    },
    async sendMail(each, { messageId }) {
      await each.pass();
      world.mailed.push(messageId);
      return { outcome: 'accepted', response: '250 OK' };
    },
    acquired(each, name, lease) {
      const isOther = (other: World['leases'][number]) => other.name === name && !other.holder.isDead && other.isHeld();
      if (world.leases.some(isOther)) world.heldTwice.push(name);
      world.leases.push({ name, holder: each, isHeld: lease.isHeld });
    },
  });
  begun(process);
  await process.start(startService, config, logger, world.calendar.onMachine);
  return process;
}

/** Lets time pass until a promise is settled. */
async function untilDone<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = () => {
    isDone = true;
  };
  work.then(done, done);
  while (!isDone) await runUntil(virtualNow() + 60_000, () => isDone);
  return work;
}

const NO_HOOKS: Watching = { before: () => {}, after: () => {} };

export type Venue = { readonly communityId: CommunityId; readonly brandId: BrandId; readonly spaceId: SpaceId };

export type Filled = Awaited<ReturnType<typeof newStores>>;

/** A store with a community, its space, a brand, a webhook and a manager of each, which has nothing left to do. */
export async function newStores() {
  seedRandomness(1);
  const world = copyOf({ events: newEventsDisk(), documents: newDocumentsDisk() }, FILLED_AT);
  const process = await untilDone(startIn(world, 0, NO_HOOKS));
  const { core } = process.service ?? {};
  if (core === undefined) throw new Error('The service did not start');
  const venue = await untilDone(process.run(() => fill(core)));
  await runUntil(virtualNow() + 10_000);
  await untilDone(process.run(async () => process.service?.stop()));
  process.kill();
  return { events: world.events, documents: world.documents, venue };
}

async function fill({ commands, users }: Core): Promise<Venue> {
  const { communityId } = accepted(
    await commands.catalogue.addCommunity({ name: 'Harbour Lofts', timeZone: 'UTC' }, OPERATOR),
  );
  const hours = { windowStart: 8, windowEnd: 22, durationHours: 1, answerHours: 72 };
  const space = { communityId, name: 'Hall', ...hours, eventFee: cents(100_00) };
  const spaceId = accepted(await commands.catalogue.addSpace(space, OPERATOR));
  const { brandId } = accepted(await commands.catalogue.addBrand({ name: 'Northwind' }, OPERATOR));
  const account = { kind: 'Community', id: communityId } as const;
  const { apiKeyId } = accepted(await commands.apiKeys.issue({ account, permissions: 16, label: 'test' }, OPERATOR));
  const owner = { account, credential: `apiKey:${apiKeyId}` } as const;
  accepted(await commands.webhooks.register({ owner, url: 'https://receiver.example', events: 15 }, OPERATOR));
  for (const each of [account, { kind: 'Brand', id: brandId } as const]) {
    const user = { email: `${each.kind}@${MAIL_HOST}`, password: 'long enough', accounts: [each] };
    accepted(await users.add(user, OPERATOR));
  }
  return { communityId, brandId, spaceId };
}
