import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';
import { Browser } from '../browser.ts';
import { bookingRequests, dateIn, type Places } from './requests.ts';

/** What an attacker has: the credentials of one account. Those who have none are attacks, too. */
export type Attack = {
  readonly name: keyof typeof ATTACKS;
  readonly url: string;
  readonly key: string;
  readonly client: { readonly id: string; readonly secret: string };
  readonly user: { readonly email: string; readonly password: string };
  readonly places: Places;
};

/** What the process of an attack prints before it begins. */
export const BEGUN = 'begun\n';

/** More bookings than an attack makes. */
const SLOTS = 24_000;

/** Requests that were answered, by status, and those that were not. */
type Answers = Record<string, number>;

/** Fewer than a key may register, and an account in a minute: churn needs some, too. */
const HANGING = 15;

/** The attacks of one account on the others that share its service. Each goes on until the process ends. */
const ATTACKS = {
  /** Asks for lists on many connections and reads nothing. */
  unread(attack: Attack, answers: Answers) {
    const { port, hostname } = new URL(attack.url);
    const get = `GET /api/v1/bookings?startDate=${dateIn(-1)} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${attack.key}\r\n\r\n`;
    const open = () => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.on('close', () => setTimeout(open, 10)).on('end', () => count(answers, 'ended'));
      socket.pause().write(get.repeat(20));
    };
    for (let i = 0; i < 300; i += 1) open();
  },

  /** Reads lists as fast as they are made, none of which is cached. */
  async lists(attack: Attack, answers: Answers) {
    let day = 0;
    await repeat(32, () => rest(attack, answers, 'GET', `/bookings?startDate=${dateIn(-1 - (day++ % 1_000))}`));
  },

  /** Searches a year of all spaces. */
  async searches(attack: Attack, answers: Answers) {
    const token = await tokenOf(attack);
    const search = { startDate: dateIn(1), endDate: dateIn(364), limit: 60 };
    await repeat(64, () => tool(attack, answers, token, 'find_open_days', search));
  },

  /** Requests and cancels one hour of a day of which the service has thousands of bookings to read first. */
  async day(attack: Attack, answers: Answers) {
    const token = await tokenOf(attack);
    await repeat(4, () => requestAndCancel(attack, answers, token));
  },

  async requests(attack: Attack, answers: Answers) {
    const wanted = bookingRequests(attack.places, SLOTS).values();
    await repeat(64, () => rest(attack, answers, 'POST', '/bookings', wanted.next().value?.body));
  },

  /** Registers receivers that hang, and makes events for them. */
  async webhooks(attack: Attack, answers: Answers) {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    for (let i = 0; i < HANGING; i += 1)
      await rest(attack, answers, 'POST', '/webhooks', { url: `${url}${i}`, events: 15 });
    const wanted = bookingRequests(attack.places, SLOTS).values();
    await repeat(8, () => rest(attack, answers, 'POST', '/bookings', wanted.next().value?.body));
  },

  /** Registers and deletes webhooks, and makes requests that are refused, each under a new key. */
  async churn(attack: Attack, answers: Answers) {
    const url = 'https://receiver.example/';
    let registrations = 0;
    const register = async () => {
      registrations += 1;
      // The others of this minute are for receivers that hang. These are refused.
      const events = registrations <= HANGING ? 1 : 0;
      const registered = await rest(attack, answers, 'POST', '/webhooks', { url, events });
      const { id } = JSON.parse(registered);
      if (id !== undefined) await rest(attack, answers, 'DELETE', `/webhooks/${id}`);
    };
    const refused = { spaceId: attack.places.spaceIds[0], startTime: dateIn(-5), startHour: 9 };
    await Promise.all([repeat(4, register), repeat(16, () => rest(attack, answers, 'POST', '/bookings', refused))]);
  },

  /** Asks for the history of a booking of that day. */
  async histories(attack: Attack, answers: Answers) {
    const { date } = BUSY_HOUR;
    const listed = await rest(attack, answers, 'GET', `/bookings?startDate=${date}&endDate=${date}`);
    const [{ id }] = JSON.parse(listed);
    await repeat(64, () => rest(attack, answers, 'GET', `/bookings/${id}/history`));
  },

  /** Loads pages of the console, as a community sees them. */
  async console(attack: Attack, answers: Answers) {
    const origin = attack.url.replace('127.0.0.1', 'localhost');
    const browser = new Browser(origin);
    await browser.signIn(attack.user);
    let page = 0;
    await repeat(32, async () => {
      const { status } = await browser.open(`/console/${PAGES[page++ % PAGES.length]}`);
      count(answers, status);
    });
  },

  /** Sends the callback of one sign-in again and again, without a login. */
  async callback(attack: Attack, answers: Answers) {
    const origin = attack.url.replace('127.0.0.1', 'localhost');
    const begun = await fetch(`${origin}/console/sign-in`, { redirect: 'manual' });
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
    const cookie = begun.headers.getSetCookie().map((line) => line.split(';', 1)[0]);
    const path = `/console/callback?code=x&state=${state}&iss=${encodeURIComponent(origin)}`;
    await repeat(16, () => send(attack, answers, { method: 'GET', path, headers: { cookie: cookie.join('; ') } }));
  },

  /** Sends forms with 64 KB in the name of one field, without a login. */
  async forms(attack: Attack, answers: Answers) {
    const headers = {
      origin: attack.url.replace('127.0.0.1', 'localhost'),
      'content-type': 'application/x-www-form-urlencoded',
    };
    const request = {
      method: 'POST',
      path: '/console/spaces/new',
      headers,
      body: `${'password'.repeat(8_000)}%0A=x`,
    } as const;
    await repeat(16, () => send(attack, answers, request));
  },

  /** Sends long texts where pages of the console expect a date or a name. */
  async texts(attack: Attack, answers: Answers) {
    const browser = new Browser(attack.url.replace('127.0.0.1', 'localhost'));
    await browser.signIn(attack.user);
    const pages = [
      `bookings/1?at=a${'+'.repeat(15_000)}b`,
      `bookings?q=${'ab+'.repeat(900)}`,
      `bookings?from=a${'+'.repeat(9_000)}b`,
    ];
    let page = 0;
    await repeat(32, async () => {
      const { status } = await browser.open(`/console/${pages[page++ % pages.length]}`);
      count(answers, status);
    });
  },
};

const PAGES = [
  ...['inbox', 'calendar', `calendar/${dateIn(5)}`, 'bookings', 'bookings?when=past', 'bookings/1', 'charges'],
  ...['history', 'reviews', 'spaces', 'spaces/1', 'keys', 'webhooks'],
];

/** Calls something on and on, so many times at once. */
async function repeat(times: number, work: () => Promise<unknown>): Promise<void> {
  const again = async (): Promise<never> => {
    for (;;) await work();
  };
  await Promise.all(Array.from({ length: times }, again));
}

const count = (answers: Answers, what: string | number) => {
  answers[what] = (answers[what] ?? 0) + 1;
};

const pools = new Map<string, Pool>();

async function send(
  { url }: Pick<Attack, 'url'>,
  answers: Answers,
  request: { method: 'GET' | 'POST' | 'DELETE'; path: string; headers: Record<string, string>; body?: string },
): Promise<string> {
  const pool = pools.getOrInsertComputed(url, () => new Pool(url, { connections: 256 }));
  try {
    const { statusCode, body } = await pool.request({ ...request, body: request.body ?? null });
    count(answers, statusCode);
    return await body.text();
  } catch {
    count(answers, 'errors');
    return '{}';
  }
}

let keys = 0;
function rest(
  attack: Attack,
  answers: Answers,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<string> {
  const headers: Record<string, string> = { authorization: `Bearer ${attack.key}` };
  if (body === undefined) return send(attack, answers, { method, path: `/api/v1${path}`, headers });
  keys += 1;
  Object.assign(headers, { 'content-type': 'application/json', 'idempotency-key': `attack-${process.pid}-${keys}` });
  return send(attack, answers, { method, path: `/api/v1${path}`, headers, body: JSON.stringify(body) });
}

/** An access token for the MCP server. */
export async function tokenOf({ url, client }: Pick<Attack, 'url' | 'client'>): Promise<string> {
  const grant = { grant_type: 'client_credentials', resource: 'mcp', scope: 'service.mcp' };
  const response = await fetch(`${url}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` },
    body: new URLSearchParams(grant),
  });
  const { access_token: token } = (await response.json()) as { readonly access_token?: string };
  if (token === undefined) throw new Error(`The token request was answered with ${response.status}`);
  return token;
}

/** Calls a tool of the MCP server. @returns what it answers */
async function tool(
  attack: Pick<Attack, 'url'>,
  answers: Answers,
  token: string,
  name: string,
  arguments_: object,
): Promise<{ readonly [field: string]: unknown }> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: arguments_ } });
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': '2025-11-25',
  };
  const answered = await send(attack, answers, { method: 'POST', path: '/mcp', headers, body });
  const json = answered.startsWith('{') ? answered : /^data: (.*)$/m.exec(answered)?.[1];
  return JSON.parse(json ?? '{}').result?.structuredContent ?? {};
}

const BUSY_HOUR = { date: dateIn(1_500), startHour: 12 };

/** Requests the same hour again and again, and cancels it. */
export async function requestAndCancel(
  attack: Pick<Attack, 'url' | 'places'>,
  answers: Answers,
  token: string,
): Promise<boolean> {
  keys += 1;
  const idempotencyKey = `busy-${process.pid}-${keys}`;
  const wanted = { spaceId: attack.places.spaceIds[0], ...BUSY_HOUR, idempotencyKey };
  const { id: bookingId } = await tool(attack, answers, token, 'request_booking', wanted);
  if (bookingId === undefined) return false;
  await tool(attack, answers, token, 'cancel_booking', { bookingId });
  return true;
}

if (import.meta.main) {
  const attack: Attack = JSON.parse(await text(process.stdin));
  const answers: Answers = {};
  process.once('SIGTERM', () => {
    console.log(JSON.stringify(answers));
    process.exit();
  });
  // Sockets that are not read keep no process alive.
  setInterval(() => {}, 60_000);
  process.stdout.write(BEGUN);
  await ATTACKS[attack.name](attack, answers);
}
