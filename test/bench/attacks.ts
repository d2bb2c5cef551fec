import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type Answers,
  type Attack,
  BUSY_HOUR,
  count,
  repeat,
  requestAndCancel,
  rest,
  tokenOf,
  tool,
} from './attack.ts';
import { CONSOLE_ATTACKS } from './console-attacks.ts';
import { bookingRequests, dateIn } from './requests.ts';

/** What the process of an attack prints before it begins. */
export const BEGUN = 'begun\n';

/** More bookings than an attack makes. */
const SLOTS = 24_000;

/** Fewer than a key may register, and an account in a minute: churn needs some, too. */
const HANGING = 15;

/** The attacks of one account, or of a stranger, on the others that share the service. Each goes on until the process ends. */
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

  /** The same with 150 lists on each connection, short ones and long ones. */
  pipelined(attack: Attack, answers: Answers) {
    const { port, hostname } = new URL(attack.url);
    const open = (from: string) => {
      const get = `GET /api/v1/bookings?startDate=${from} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${attack.key}\r\n\r\n`;
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.on('close', () => setTimeout(open, 10, from)).on('end', () => count(answers, 'ended'));
      socket.pause().write(get.repeat(150));
    };
    for (let i = 0; i < 100; i += 1) open(dateIn(i % 2 === 0 ? -1 : 2_000));
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

  ...CONSOLE_ATTACKS,
};

export type AttackName = keyof typeof ATTACKS;

/** Attacks that begin with their first answer: until then, they make what they send, and others wait for nothing. */
const BEGIN_WITH_ANSWER: ReadonlySet<AttackName> = new Set(['photos']);

async function sayBegun(name: AttackName, answers: Answers): Promise<void> {
  while (BEGIN_WITH_ANSWER.has(name) && Object.keys(answers).length === 0) await pause(50);
  process.stdout.write(BEGUN);
}

if (import.meta.main) {
  const attack: Attack & { readonly name: AttackName } = JSON.parse(await text(process.stdin));
  const answers: Answers = {};
  process.once('SIGTERM', () => {
    console.log(JSON.stringify(answers));
    process.exit();
  });
  // Sockets that are not read keep no process alive.
  setInterval(() => {}, 60_000);
  void sayBegun(attack.name, answers);
  await ATTACKS[attack.name](attack, answers);
}
