import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { commandIn } from '../document-store/mongodb/commands.ts';
import { startMongoServer } from '../document-store/mongodb/server.ts';
import { startProxyTo } from '../proxy.ts';
import type { Environment } from '../service/node-process.ts';
import { ToolMissing } from '../tool.ts';
import { book, cpuAtRest, post } from './bookings.ts';
import { type Checkout, openCheckout, type Service, type Venue } from './checkout.ts';
import type { Figure } from './figure.ts';
import { OWN_WORK } from './mongodb.ts';
import { bookingRequests } from './requests.ts';

const figuresOn = (engines: string, floors: { readonly commands?: Figure['floor'] }) =>
  ({
    without: { name: `${engines}: POST by 32 clients without mail`, unit: '/s' },
    with: { name: `${engines}: the same with a mail about each`, unit: '/s' },
    share: { name: `${engines}: with mail, of without`, unit: '×', floor: { atLeast: 0.95 } },
    cpuWithout: { name: `${engines}: processor time per booking without mail`, unit: 'µs' },
    cpuWith: { name: `${engines}: the same with mail`, unit: 'µs' },
    callsWithout: { name: `${engines}: write calls per booking without mail`, unit: '' },
    callsWith: { name: `${engines}: the same with mail`, unit: '' },
    ...(floors.commands && {
      commandsWithout: { name: `${engines}: commands a booking, 32 clients, without mail`, unit: '' },
      commandsWith: { name: `${engines}: the same with mail`, unit: '', floor: floors.commands },
      commandsAMail: { name: `${engines}: commands a mail that is sent`, unit: '' },
    }),
    memory: { name: `${engines}: memory after them, more with mail than without`, unit: 'MiB', floor: { atMost: 20 } },
    sent: { name: `${engines}: mails sent`, unit: '/s', floor: { atLeast: 500 } },
  }) as const satisfies Readonly<Record<string, Figure>>;

export const mailFigures = figuresOn('mail', {});
export const mailOnMongoFigures = figuresOn('mail on MongoDB', { commands: { atMost: 1 } });

/** Members who all get each mail. */
const MANY_READERS = 30;
/** Each of them gets as many mails one by one in an hour. */
const PER_READER = 20;
/** Of them. The first mail loads what sends. */
const WARM_UP = 5;
/** Users that are added at the same time: each is a process. */
const ADDED_TOGETHER = 3;
const BOOKING_CONNECTIONS = 32;

type Size = { readonly seconds: number; readonly restMs: number };
/** What a service has sent to its document store so far. */
type Counted = { readonly commands: number };

/** Books with and without mail, each in a process and a store of its own, and then sends many mails at once. */
export async function measureMail({
  checkout,
  size,
  counted = { commands: 0 },
}: {
  readonly checkout: Checkout;
  readonly size: Size;
  readonly counted?: Counted;
}) {
  const server = await openMailServer();
  try {
    const without = await bookWith(checkout, size, counted, {});
    const mailed = await bookWith(checkout, size, counted, server.settings);
    const { perSecond, commands } = await sendMany(checkout, counted, server);
    return {
      without: without.perSecond,
      with: mailed.perSecond,
      share: mailed.perSecond / without.perSecond,
      cpuWithout: without.cpu,
      cpuWith: mailed.cpu,
      callsWithout: without.calls,
      callsWith: mailed.calls,
      commandsWithout: without.commands,
      commandsWith: mailed.commands,
      commandsAMail: commands,
      memory: mailed.memory - without.memory,
      sent: perSecond,
    };
  } finally {
    await server.close();
  }
}

/** The same on the stand-in of MongoDB, through a proxy that counts commands. The log is the embedded one. */
export async function measureMailOnMongo({ checkout: { root }, size }: { checkout: Checkout; size: Size }) {
  const { server, stop } = await startMongoServer();
  if ('missing' in server) throw new ToolMissing('MongoDB', server);
  const counted = { commands: 0 };
  const proxy = await startProxyTo(server.url, (passing, chunk) => {
    const command = passing === 'request' ? commandIn(chunk) : undefined;
    if (command !== undefined && !OWN_WORK.test(command.name)) counted.commands += 1;
    return false;
  });
  const checkout = await openCheckout(root, { mongo: proxy.url });
  try {
    return await measureMail({ checkout, size, counted });
  } finally {
    await checkout.close();
    proxy.close();
    await stop();
  }
}

function bookWith(checkout: Checkout, { seconds, restMs }: Size, counted: Counted, settings: Environment) {
  return checkout.withVenue(async (venue) => {
    await addReaders(checkout, venue, 1);
    return checkout.withService(
      venue,
      async (service) => {
        await book(service, BOOKING_CONNECTIONS, seconds / 2);
        const before = { cpu: await cpuAtRest(service), calls: writeCallsOf(service), commands: counted.commands };
        const { perSecond, booked } = await book(service, BOOKING_CONNECTIONS, seconds);
        const commands = (counted.commands - before.commands) / booked;
        const cpu = (((await cpuAtRest(service)) - before.cpu) / booked) * 1_000;
        const calls = (writeCallsOf(service) - before.calls) / booked;
        await pause(restMs);
        return { perSecond, cpu, calls, commands, memory: service.memoryMiB() };
      },
      settings,
    );
  });
}

/** So many bookings that each reader gets all the mails of an hour, as fast as they are sent. */
function sendMany(checkout: Checkout, counted: Counted, server: MailServer) {
  return checkout.withVenue(async (venue) => {
    await addReaders(checkout, venue, MANY_READERS);
    return checkout.withService(
      venue,
      async (service) => {
        const requests = bookingRequests(venue, PER_READER).slice(0, PER_READER);
        const send = async (some: typeof requests) => {
          const expected = server.arrivals.length + some.length * MANY_READERS;
          await Promise.all(some.map(({ body }) => post(service, '/bookings', body)));
          await server.received(expected);
        };
        await send(requests.slice(0, WARM_UP));
        const [begin, before] = [server.arrivals.length, counted.commands];
        await send(requests.slice(WARM_UP));
        const arrivals = server.arrivals.slice(begin);
        const seconds = (Math.max(...arrivals) - Math.min(...arrivals)) / 1_000;
        return { perSecond: arrivals.length / seconds, commands: (counted.commands - before) / arrivals.length };
      },
      server.settings,
    );
  });
}

async function addReaders(checkout: Checkout, venue: Venue, count: number): Promise<void> {
  const emails = Array.from({ length: count }, (_, i) => `reader-${i}@example.com`);
  const password = 'a password of the bench';
  const next = async () => {
    for (let email = emails.pop(); email !== undefined; email = emails.pop())
      await checkout.addUser(venue, { email, password }, '--community', '1');
  };
  await Promise.all(Array.from({ length: ADDED_TOGETHER }, next));
}

/** How often a process has called the system to write: files and sockets. */
const writeCallsOf = ({ pid }: Service): number =>
  Number(/syscw: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);

type MailServer = Awaited<ReturnType<typeof openMailServer>>;

/** A mail server that accepts everything at once and notes when mails arrived. */
async function openMailServer() {
  const worker = new Worker(new URL('mail-server.ts', import.meta.url));
  const [port]: unknown[] = await once(worker, 'message');
  const arrivals: number[] = [];
  worker.on('message', (arrived: readonly number[]) => arrivals.push(...arrived));
  return {
    settings: { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'bench@example.com' },
    arrivals,
    /** Resolves when so many mails have arrived in all. @throws if that takes minutes */
    async received(count: number): Promise<void> {
      for (let waited = 0; arrivals.length < count; waited += 1) {
        if (waited > 18_000) throw new Error(`${arrivals.length} of ${count} mails have arrived`);
        await pause(10);
      }
    },
    close: () => worker.terminate(),
  };
}
