import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { type Attack, requestAndCancel, tokenOf } from './attack.ts';
import { type AttackName, BEGUN } from './attacks.ts';
import { type Checkout, registerWebhook, type Service } from './checkout.ts';
import type { Figure } from './figure.ts';
import type { Receiver } from './receiver.ts';
import { bookingRequests, dateIn } from './requests.ts';

type Attacker = Omit<Attack, 'url'>;
/** Another account, which is not part of any attack. */
type Victim = { readonly service: Service; readonly key: string };

const PER_SECOND = 100;
/** Until the service has loaded the modules that it loads when they are first needed, such as those of a sign-in. */
const WARM_UP_SECONDS = 2;
/** The bookings of one attack do not get in the way of the next one's. */
const DAYS_PER_ATTACK = 360;
const FLOOR = { floor: { atMost: 100 } };
const figure = (meanwhile: string): Figure => ({ name: `another account, ${meanwhile}, p99`, unit: 'ms', ...FLOOR });

const ATTACKS = {
  requests: 'while 64 connections request bookings',
  unread: 'while 6,000 lists are asked for and not read',
  pipelined: 'while 15,000 lists are asked for at once, again and again, and not read',
  lists: 'while 32 lists are read all the time',
  searches: 'while 64 MCP clients search a year for open days',
  day: 'while a day with thousands of bookings is folded and booked',
  histories: 'while 64 connections ask for the history of a booking on such a day',
  churn: 'while webhooks are registered and removed, and bookings refused',
  console: 'while 32 windows load pages of the console',
  callback: 'while a stranger repeats the callback of a sign-in',
  forms: 'while a stranger sends forms of 64 KB',
  texts: 'while long texts are sent as dates and names',
  uploads: 'while a stranger sends forms of a megabyte from ever new addresses',
  imports: 'while files of a megabyte are checked',
  photos: 'while photos of 6 MB are uploaded, eight at once',
  streams: 'while 300 live pages of a session are opened and days are closed',
  signIns: 'while a stranger tries passwords from ever new addresses',
  visitors: 'while 32 visitors load public pages from ever new addresses',
  feeds: 'while 200 connections ask for calendar feeds and do not read them',
  // The last one: its deliveries go on in every process that starts later.
  webhooks: 'while 15 receivers hang',
} as const satisfies Readonly<Record<AttackName, string>>;
/** Default: all of them. */
const WANTED = process.env.ATTACKS?.split(',');
const NAMES = (Object.keys(ATTACKS) as AttackName[]).filter((name) => WANTED?.includes(name) ?? true);

export const hostileFigures: Readonly<Record<string, Figure>> = {
  idle: figure('at rest'),
  ...Object.fromEntries(NAMES.map((name) => [name, figure(ATTACKS[name])])),
  ...(NAMES.includes('webhooks') && {
    delivery: { name: 'delivery to another account, while 15 receivers hang, p99', unit: 'ms', ...FLOOR },
  }),
};

/** How long another account waits for its answers during each attack. Each has a service process of its own, with cold caches. */
export async function measureHostile(setting: {
  readonly checkout: Checkout;
  readonly receiver: Receiver;
  /** Bookings of the attacker, and how often it has requested and cancelled one hour. */
  readonly bookings: number;
  readonly pairs: number;
  readonly seconds: number;
}): Promise<Record<string, number>> {
  const { checkout, receiver, bookings, pairs, seconds } = setting;
  const figures: Record<string, number> = {};
  await checkout.withVenue(
    async (venue) => {
      const attacker = await equipAttacker(checkout, venue);
      const withService = async <T>(work: (victim: Victim) => Promise<T>) => {
        const key = await addVictim(checkout, venue);
        return checkout.withService(venue, (service) => work({ service, key }));
      };
      await withService(({ service: { url } }) => makePairs({ ...attacker, url }, pairs));
      figures.idle = await withService(async (victim) => {
        await p99Of(victim, WARM_UP_SECONDS);
        return p99Of(victim, seconds);
      });
      for (const name of NAMES)
        await withService(async (victim) => {
          if (name === 'webhooks') await registerWebhook(victim.service, receiver.url, victim.key);
          const end = await startAttack({ ...attacker, name, url: victim.service.url });
          await p99Of(victim, WARM_UP_SECONDS);
          const startedAt = Date.now();
          figures[name] = await p99Of(victim, seconds);
          console.error(`  ${name}: ${Math.round(figures[name])} ms; the attacker was answered ${await end()}`);
          if (name === 'requests') attacker.places.nextDay += DAYS_PER_ATTACK;
          if (name === 'webhooks')
            figures.delivery = p99(
              receiver.arrivals.filter(({ eventAt }) => eventAt >= startedAt).map(({ at, eventAt }) => at - eventAt),
            );
        });
    },
    { bookings },
  );
  return figures;
}

/** Adds a brand without bookings: its list is as long during one attack as during the next. @returns a key of it */
async function addVictim(checkout: Checkout, venue: Service['venue']): Promise<string> {
  const added = await checkout.venueCommand(venue, 'brand', 'add', '--name', 'Other');
  return fieldOf(await checkout.venueCommand(venue, 'api-key', 'issue', '--brand', fieldOf(added, 'id')), 'key');
}

/** Gives the first brand what an attacker may have. */
async function equipAttacker(checkout: Checkout, venue: Service['venue']): Promise<Attacker> {
  const client = await checkout.venueCommand(venue, 'client', 'add', '--brand', '1');
  const user = { email: 'ada@example.com', password: 'correct horse battery' };
  await checkout.addUser(venue, user, '--community', '1');
  return {
    key: venue.key,
    client: { id: fieldOf(client, 'clientId'), secret: fieldOf(client, 'clientSecret') },
    user,
    places: { spaceIds: venue.spaceIds.slice(1), nextDay: venue.nextDay },
  };
}

const fieldOf = (json: unknown, name: string): string => {
  const [, value] = Object.entries(json ?? {}).find(([key]) => key === name) ?? [];
  return String(value);
};

async function makePairs(attacker: Attack, pairs: number): Promise<void> {
  const token = await tokenOf(attacker);
  for (let made = 0; made < pairs; made += 1)
    if (!(await requestAndCancel(attacker, {}, token))) throw new Error('The hour cannot be requested and cancelled');
}

/** Attacks from a process of its own. Resolves once that runs. @returns ends the attack and says how it was answered */
async function startAttack(attack: Attack & { readonly name: AttackName }): Promise<() => Promise<string>> {
  const attacker = spawn(process.execPath, [new URL('attacks.ts', import.meta.url).pathname], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  attacker.stdin.end(JSON.stringify(attack));
  const ended = Promise.all([text(attacker.stdout), once(attacker, 'close')]);
  await once(attacker.stdout, 'data');
  return async () => {
    attacker.kill('SIGTERM');
    const [printed] = await ended;
    const answers = printed.replace(BEGUN, '');
    if (answers === '') throw new Error(`The attack ${attack.name} ended by itself`);
    return answers.trim();
  };
}

/** Sends requests at a steady rate, whether or not those before are answered: two kinds of reads, and bookings. */
async function p99Of({ service: { url, venue }, key }: Victim, seconds: number): Promise<number> {
  const pool = new Pool(url, { connections: 64 });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const requests = victimsRequests(venue, seconds * PER_SECOND);
  const took: number[] = [];
  const send = async ({ path, body }: { readonly path: string; readonly body?: object }): Promise<void> => {
    const startedAt = performance.now();
    const method = body === undefined ? 'GET' : 'POST';
    const { statusCode, body: answer } = await pool.request({
      path: `/api/v1${path}`,
      method,
      headers,
      body: JSON.stringify(body) ?? null,
    });
    await answer.dump();
    if (statusCode >= 300) throw new Error(`${method} ${path} was answered with ${statusCode}`);
    took.push(performance.now() - startedAt);
  };
  const sent: Promise<void>[] = [];
  const startedAt = performance.now();
  for (const request of requests) {
    while (sent.length > ((performance.now() - startedAt) * PER_SECOND) / 1_000) await pause(2);
    sent.push(send(request));
  }
  await Promise.all(sent);
  await pool.close();
  return p99(took);
}

function victimsRequests(venue: Service['venue'], count: number) {
  // In a space of its own, so that no hour is taken.
  const [spaceId = 0] = venue.spaceIds;
  const places = { spaceIds: [spaceId], nextDay: venue.nextDay };
  const bookings = bookingRequests(places, count / 3).map(({ body }) => ({ path: '/bookings', body }));
  venue.nextDay = places.nextDay;
  return bookings
    .flatMap((booking, i) => [
      { path: `/spaces/${spaceId}/availability?date=${dateIn(1 + (i % 14))}` },
      { path: '/bookings' },
      booking,
    ])
    .slice(0, count);
}

const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? Number.NaN;
