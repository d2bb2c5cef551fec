import { request as createRequest, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Browser } from '../browser.ts';
import { grain } from '../photos/pictures.ts';
import { type Answers, type Attack, count, repeat, send } from './attack.ts';
import { dateIn } from './requests.ts';

/** The console is used under the name that the service has for itself. */
const originOf = ({ url }: Attack): string => url.replace('127.0.0.1', 'localhost');

/** Attacks on the console, with a login and without one. */
export const CONSOLE_ATTACKS = {
  /** Loads pages of the console, as a community sees them. */
  async console(attack: Attack, answers: Answers) {
    const origin = originOf(attack);
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
    const origin = originOf(attack);
    const begun = await fetch(`${origin}/console/sign-in`, { redirect: 'manual' });
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
    const cookie = begun.headers.getSetCookie().map((line) => line.split(';', 1)[0]);
    const path = `/console/callback?code=x&state=${state}&iss=${encodeURIComponent(origin)}`;
    await repeat(16, () => send(attack, answers, { method: 'GET', path, headers: { cookie: cookie.join('; ') } }));
  },

  /** Sends forms with 64 KB in the name of one field, without a login. */
  async forms(attack: Attack, answers: Answers) {
    const headers = {
      origin: originOf(attack),
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
    const browser = new Browser(originOf(attack));
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

  /** Sends a megabyte to the form that takes files, from ever new addresses, without a login: as one file, and as thousands of parts. */
  async uploads(attack: Attack, answers: Answers) {
    const origin = originOf(attack);
    const headers = { host: new URL(origin).host, origin, 'content-type': 'multipart/form-data; boundary=b' };
    const bodies = [
      `${part('file', 'x'.repeat(1_000_000), '; filename="a.csv"')}--b--`,
      `${part('a', '').repeat(15_000)}--b--`,
    ];
    let sent = 0;
    await repeat(16, async () => {
      const body = bodies[sent++ % bodies.length] ?? '';
      count(answers, await ask(new URL(IMPORT, attack.url), { localAddress: localAddress(sent), headers, body }));
    });
  },

  /** Lets files of a megabyte be checked, and adds none of them. */
  async imports(attack: Attack, answers: Answers) {
    const browser = new Browser(originOf(attack));
    await browser.signIn(attack.user);
    const page = await browser.open(IMPORT);
    const lines = Array.from({ length: 2_000 }, (_, index) => `${dateIn(100 + index)},${index % 22},23,1,Concert`);
    const csv = `date,start,end,space,title\n${lines.join('\n')}\n`.padEnd(990_000, ' \n');
    await repeat(8, async () => {
      const { status } = await browser.upload(page, IMPORT, { file: new Blob([csv]) });
      count(answers, status);
    });
  },

  /** Uploads photos that take long to decode, each another one, and removes them again. */
  async photos(attack: Attack, answers: Answers) {
    const browser = new Browser(originOf(attack));
    await browser.signIn(attack.user);
    const path = '/console/spaces/1/photos';
    const page = await browser.open(path);
    const photo = await grain(4_600, 3_400).jpeg({ quality: 75 }).toBuffer();
    let sent = 0;
    await repeat(8, async () => {
      sent += 1;
      // What follows the picture makes another file of it.
      const files = { photo: new Blob([new Uint8Array(photo), String(sent)]) };
      const { status } = await browser.upload(page, path, files);
      count(answers, status);
      const now = await browser.open(path);
      const [first] = /remove:\w+/.exec(now.text) ?? [];
      if (first !== undefined) await browser.send(now, `${path}/order`, { do: first });
    });
  },

  /** Opens hundreds of live pages of one session, and changes many days at once. */
  async streams(attack: Attack, answers: Answers) {
    const browser = new Browser(originOf(attack));
    await browser.signIn(attack.user);
    const { hostname, port } = new URL(originOf(attack));
    const get = `GET /console/live HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: console=${browser.cookie('console')}\r\n\r\n`;
    const open = () => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
      socket.on('close', () => setTimeout(open, 100)).on('end', () => count(answers, 'ended'));
      socket.pause().write(get);
    };
    for (let opened = 0; opened < 300; opened += 1) open();
    const path = '/console/calendar/closures/new';
    let day = 400;
    await repeat(1, async () => {
      day += 30;
      const page = await browser.open(path);
      const { status } = await browser.send(page, path, { from: dateIn(day), to: dateIn(day + 29), spaces: 'all' });
      count(answers, status);
      await pause(1_000);
    });
  },

  /** Loads public pages from ever new addresses: of spaces, of their house with all of them, searches, and what search engines read. */
  async visitors(attack: Attack, answers: Answers) {
    const browser = new Browser(originOf(attack));
    await browser.signIn(attack.user);
    const page = await browser.open(PUBLIC);
    const published = attack.places.spaceIds.map(String);
    if (page.status === 200) await browser.send(page, PUBLIC, { published });
    const paths = [
      '/sitemap.xml',
      '/h/1',
      ...Array.from({ length: 8 }, (_, at) => `/rooms?month=${dateIn(60 * (at + 1)).slice(0, 7)}&guests=${at + 1}`),
      ...published.flatMap((id) => [`/h/1/${id}`, `/embed/${id}?month=${dateIn(60).slice(0, 7)}`]),
    ];
    // With the names that the pages lead to.
    const named = await Promise.all(paths.map(async (path) => (await browser.open(path)).url));
    const { host } = new URL(originOf(attack));
    let sent = 0;
    await repeat(32, async () => {
      sent += 1;
      const { pathname = '', search = '' } = named[sent % named.length] ?? {};
      const options = { localAddress: localAddress(sent), headers: { host }, method: 'GET', body: '' };
      count(answers, await ask(new URL(`${pathname}${search}`, attack.url), options));
    });
  },

  /** Tries passwords from ever new addresses, without a login. */
  async signIns(attack: Attack, answers: Answers) {
    const origin = originOf(attack);
    const browser = new Browser(origin);
    const page = await browser.open('/console');
    const { target, body } = page.form(/sign-in$/, { email: 'nobody@example.com', password: 'a wrong password' });
    const cookie = browser.cookieNames().map((name) => `${name}=${browser.cookie(name)}`);
    const headers = {
      host: new URL(origin).host,
      origin,
      cookie: cookie.join('; '),
      'content-type': 'application/x-www-form-urlencoded',
    };
    let sent = 0;
    await repeat(16, async () => {
      sent += 1;
      const options = { localAddress: localAddress(sent), headers, body: body.toString() };
      count(answers, await ask(new URL(target, attack.url), options));
    });
  },

  /** Asks for calendar feeds on many connections and reads nothing. */
  async feeds(attack: Attack, answers: Answers) {
    const browser = new Browser(originOf(attack));
    await browser.signIn(attack.user);
    const secrets: string[] = [];
    for (let added = 0; added < 4; added += 1) {
      const { text } = await browser.send(await browser.open('/console/feeds'), '/console/feeds', { shows: 'names' });
      secrets.push(/\/calendar\/(\w+)\.ics/.exec(text)?.[1] ?? '');
    }
    const { hostname, port } = new URL(attack.url);
    const open = (secret: string) => {
      const get = `GET /calendar/${secret}.ics HTTP/1.1\r\nHost: ${hostname}:${port}\r\n\r\n`;
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.on('close', () => setTimeout(open, 10, secret)).on('end', () => count(answers, 'ended'));
      socket.pause().write(get.repeat(10));
    };
    for (const secret of secrets) for (let opened = 0; opened < 50; opened += 1) open(secret);
  },
};

const PAGES = [
  ...['inbox', 'calendar', `calendar/${dateIn(5)}`, 'bookings', 'bookings?when=past', 'bookings/1', 'charges'],
  ...['history', 'reviews', 'spaces', 'spaces/1', 'keys', 'webhooks'],
];

const PUBLIC = '/console/spaces/public';
const IMPORT = '/console/calendar/closures/import';

const part = (name: string, value: string, file = ''): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;

/** An address of this machine, a new one for each number. */
export const localAddress = (number: number): string =>
  `127.${1 + ((number >> 16) % 250)}.${(number >> 8) & 255}.${number & 255}`;

/** Sends a request, by default a form, from a local address. @returns the status of the answer */
export const ask = (url: URL, { body, ...options }: RequestOptions & { readonly body: string }): Promise<number> =>
  new Promise((resolve) => {
    const request = createRequest(url, { method: 'POST', ...options }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
    });
    request.on('error', () => resolve(0)).end(body);
  });
