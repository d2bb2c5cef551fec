import { afterAll, beforeAll, expect, test } from 'vitest';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { day } from '../domain/bookings.fixture.ts';
import { recordProof } from '../proof/proof.ts';
import { CONTEXT, type RunningService, runServiceAt } from '../running-service.fixture.ts';
import { type Caller, createCallers } from './public-callers.ts';

/**
 * Public pages answer every caller with the same bytes as if a booking did not exist. Where they show start times, its hours look as those of a
 * closed time do.
 */

/** How many combinations are tried; `all` of them, or so many, spread over all. */
const WANTED = process.env.PUBLIC_CALLERS ?? '500';

/** A booking of each state: approved, pending, and cancelled. */
const DATES = ['2026-12-10', '2026-12-11', '2026-12-12'].map(day);
const [APPROVED, PENDING] = DATES;
const START = 12;
const SECRETS = ['Marmalade', 'Kumquat', 'Buyer & Sons', '7777'];

const METHODS = ['GET', 'HEAD'] as const;
const ACCEPTS = ['text/html', 'application/json', '*/*'];
/** Cookies besides those of a session: the reader's time zone, and what an app of another host left. */
const COOKIES = ['', 'zone=Asia/Tokyo; theme=dark'];

let service: RunningService;
let origin: string;
let callers: readonly Caller[];
let addresses: readonly string[];
let before: ReadonlyMap<string, string>;
let closed: ReadonlyMap<string, string>;

type Combination = {
  readonly caller: Caller;
  readonly path: string;
  readonly method: (typeof METHODS)[number];
  readonly accept: string;
  readonly cookie: string;
};

beforeAll(async () => {
  const running = await runServiceAt('localhost', { SIGN_UP: 'brands', MAIL_INBOX: 'true' });
  ({ service, url: origin } = running);
  await running.listen();
  const [house, other] = [await service.community('Europe/Berlin', 'House'), await service.community('UTC', 'Yard')];
  const [buyer, rival] = [await service.brand('Buyer & Sons'), await service.brand('Rival')];
  const spaces = [
    await service.space(house, { name: 'Hall', durationHours: 2 }),
    await service.space(house, { name: 'Loft', durationHours: 2 }),
    await service.space(other, { name: 'Barn', durationHours: 2 }),
    await service.space(house, { name: 'Cellar', durationHours: 2 }),
  ];
  const { catalogue, closures, bookings } = service.core.commands;
  for (const id of spaces.slice(0, 3))
    accepted(await catalogue.describeSpace({ spaceId: spaceId(id), wanted: { published: true, seated: 40 } }, CONTEXT));
  const hall = spaceId(spaces[0] ?? 0);
  addresses = addressesOf();
  before = await answersOf(addresses);

  const times = {
    communityId: communityId(house.id),
    kind: 'Closure',
    spaceIds: [hall],
    start: START,
    until: START + 2,
  } as const;
  const closing = DATES.slice(0, 2).map(async (date) =>
    accepted(await closures.add({ ...times, from: date, to: date }, CONTEXT)),
  );
  const ids = (await Promise.all(closing)).map(({ closureId }) => closureId);
  closed = await answersOf(addresses);
  for (const closureId of ids) accepted(await closures.end({ closureId, communityId: communityId(house.id) }, CONTEXT));
  expect(await answersOf(addresses)).toEqual(before);

  const booked = [];
  for (const date of DATES) {
    const details = { spaceId: hall, date, startHour: START, message: 'Launch of Marmalade', guests: 37 };
    booked.push(accepted(await bookings.request({ brandId: brandId(buyer.id), details }, CONTEXT)).bookingId);
  }
  const [first, , third] = booked;
  if (first === undefined || third === undefined) throw new Error('A booking is missing');
  accepted(await bookings.approve({ bookingId: first, communityId: communityId(house.id) }, CONTEXT));
  accepted(await bookings.cancel({ bookingId: third, by: buyer.account, reason: 'Kumquat' }, CONTEXT));

  const suspended = await service.brand('Suspended');
  callers = await createCallers(service, {
    url: origin,
    parties: [
      { name: 'the house', account: house.account },
      { name: 'another house', account: other.account },
      { name: 'the brand', account: buyer.account },
      { name: 'another brand', account: rival.account },
    ],
    suspended: suspended.account,
  });
  accepted(await catalogue.suspendBrand({ brandId: suspended.id, reason: 'A test' }, CONTEXT));
}, 120_000);
afterAll(() => service.stop());

/** The addresses of all public pages, with and without queries, and those that lead to none. */
function addressesOf(): readonly string[] {
  const months = [
    '',
    '?month=2026-12',
    '?month=2027-01',
    '?month=2028-06',
    '?month=x',
    '?booking=1',
    '?date=2026-12-10',
  ];
  const ofDay = (date: PlainDate | undefined) => [
    `date=${date}`,
    `date=${date}&hour=${START}`,
    `date=${date}&hour=${START + 4}`,
  ];
  const searches = [
    ...ofDay(APPROVED),
    ...ofDay(PENDING),
    ...[
      '',
      'month=2026-12',
      'month=2026-12&weekday=Thursday',
      `month=2026-12&hour=${START}`,
      'guests=40',
      'guests=7777',
    ],
    ...['place=house', 'name=hall', 'name=buyer', 'sort=rating', 'max=1', 'page=2', 'date=2026-12-13', 'date=x'],
  ];
  return [
    ...['', '?q=hall', '?q=buyer', '?page=2'].map((query) => `/h/1-house${query}`),
    ...months.flatMap((query) => [`/h/1-house/1-hall${query}`, `/embed/1${query}`]),
    ...[
      '/h/1-house/2-loft',
      '/h/2-yard',
      '/h/2-yard/3-barn',
      '/embed/3',
      '/h/1/1',
      '/h/1-house/4-cellar',
      '/embed/4',
      '/h/9',
    ],
    ...searches.map((query) => `/rooms?${query}`),
    ...['/rooms/compare', '/rooms/compare?space=1&space=2', '/rooms/compare?space=1&space=4'],
    ...['/sitemap.xml', '/robots.txt', '/embed.js', '/sign-up?space=1&date=2026-12-10&startHour=12'],
  ];
}

/** Whether a page shows start times of the days with bookings, or which rooms have one. */
const showsHours = (path: string): boolean => /^\/(?:rooms|sign-up)\?.*(?:date=2026-12-1[01]|hour=)/.test(path);

let networks = 0;

/** An answer with all of its headers but those that differ from one moment to the next. */
async function ask({ caller, path, method, accept, cookie }: Combination): Promise<string> {
  networks += 1;
  const cookies = [caller.headers.cookie ?? '', cookie].filter((one) => one !== '').join('; ');
  const answer = await service.app.inject({
    method,
    url: path,
    // Each has the limits of a network of its own.
    remoteAddress: `10.${networks >> 16}.${(networks >> 8) & 255}.${networks & 255}`,
    headers: {
      host: new URL(origin).host,
      ...caller.headers,
      accept,
      'user-agent': 'Mozilla/5.0',
      ...(cookies !== '' && { cookie: cookies }),
    },
  });
  const headers = Object.entries(answer.headers).filter(([name]) => name !== 'date' && name !== 'x-request-id');
  return JSON.stringify([answer.statusCode, headers, answer.body]);
}

const NOBODY: Caller = { name: 'nobody', headers: {} };

/** How a caller without credentials is answered, by path, method and kind of content. */
async function answersOf(paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const path of paths)
    for (const method of METHODS)
      for (const accept of ACCEPTS)
        answers.set(keyOf({ path, method, accept }), await ask({ caller: NOBODY, path, method, accept, cookie: '' }));
  return answers;
}

const keyOf = ({ path, method, accept }: Pick<Combination, 'path' | 'method' | 'accept'>) =>
  `${method} ${path} ${accept}`;

/** The combination with a number. Numbers that follow one another differ in all parts. */
function combination(number: number): Combination {
  let rest = number;
  const pick = <T>(list: readonly T[]): T => {
    const picked = list[rest % list.length];
    rest = Math.floor(rest / list.length);
    if (picked === undefined) throw new Error('An empty list');
    return picked;
  };
  return {
    caller: pick(callers),
    path: pick(addresses),
    accept: pick(ACCEPTS),
    method: pick(METHODS),
    cookie: pick(COOKIES),
  };
}

test('nothing of a booking shows on a public page, whoever asks', { timeout: 600_000 }, async () => {
  const total = callers.length * addresses.length * METHODS.length * ACCEPTS.length * COOKIES.length;
  expect(total).toBeGreaterThanOrEqual(26_000);
  const count = WANTED === 'all' ? total : Math.min(Number(WANTED), total);
  // A step that has no factor in common with the total reaches each once.
  const step = WANTED === 'all' ? 1 : coprime(Math.floor(total * 0.618), total);
  const first = WANTED === 'all' ? 0 : Math.floor(Math.random() * total);
  for (let at = 0; at < count; at += 1) {
    const tried = combination((first + at * step) % total);
    const answer = await ask(tried);
    const { caller, path, method, accept, cookie } = tried;
    const what = `${caller.name}: ${method} ${path}, accept ${accept}, cookie ${cookie}`;
    expect(answer, what).toBe((showsHours(path) ? closed : before).get(keyOf(tried)));
    // A search is repeated in its form.
    if (!path.includes('buyer') && !path.includes('7777'))
      for (const secret of SECRETS) expect(answer, what).not.toContain(secret);
  }
  if (WANTED === 'all')
    recordProof({
      search: 'Callers of public pages: `PUBLIC_CALLERS=all npm test -- test/console/public-callers`',
      promise: 'Every caller gets the same bytes as if a booking did not exist, and its hours look closed',
      tried: `${count.toLocaleString('en')} combinations of ${callers.length} callers and ${addresses.length} addresses`,
    });
});

function coprime(from: number, total: number): number {
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  let step = from;
  while (divisor(step, total) !== 1) step += 1;
  return step;
}
