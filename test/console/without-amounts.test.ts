import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { brandId, cents, communityId, spaceId } from '../../src/domain/ids.ts';
import { formatAmount, priceOf } from '../../src/domain/pricing.ts';
import type { Role } from '../../src/domain/roles.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { connect } from '../mcp/connected-client.ts';
import type { Running } from './console.fixture.ts';
import { type PageOf, startBusyPages } from './pages.ts';

/** A member without amounts finds none on any face, where the same search finds them for others. */

const PASSWORD = 'correct horse battery';
const SCOPE = 'service.api.read service.api.write service.api.customers';
/** Requests with a higher total must be confirmed: about half of those in the store. */
const CONFIRM_ABOVE = '400';
/** What no text but an amount has: a fee of 317.43, and the 15 % on top of it. */
const ODD_FEE = 317_43;

type Kind = Account['kind'];
const BLIND: Readonly<Record<Kind, Role>> = {
  Community: 'CoordinatorWithoutAmounts',
  Brand: 'CoordinatorWithoutAmounts',
};

let running: Running;
let pages: readonly PageOf[];
let accounts: Readonly<Record<Kind, Account>>;
let amounts: RegExp;
let customer: number;
let approved: number;
let [cheap, dear] = [0, 0];

const emailOf = (kind: Kind, role: Role) => `${role}-of-${kind}@example.com`.toLowerCase();

async function signedIn(kind: Kind, role: Role): Promise<Browser> {
  const browser = new Browser(running.url);
  expect((await browser.signIn({ email: emailOf(kind, role), password: PASSWORD })).status).toBe(200);
  return browser;
}

beforeAll(async () => {
  ({ running, pages } = await startBusyPages({
    MAIL_INBOX: 'false',
    APPROVE_CONFIRM_ABOVE: CONFIRM_ABOVE,
    CONSOLE_WRITES_PER_MINUTE: '1000',
  }));
  const { demo, service } = running;
  const { commands, queries, users } = service.core;
  const community = { kind: 'Community', id: communityId(demo.communities[0].id) } as const;
  const brand = { kind: 'Brand', id: brandId(demo.brands[0].id) } as const;
  accounts = { Community: community, Brand: brand };
  for (const kind of ['Community', 'Brand'] as const)
    for (const role of ['ViewerWithoutAmounts', 'CoordinatorWithoutAmounts', 'Manager'] as const)
      accepted(
        await users.add(
          { email: emailOf(kind, role), password: PASSWORD, accounts: [accounts[kind]], role },
          BY_OPERATOR,
        ),
      );
  const [space, other] = await queries.spaces.list(community);
  if (space === undefined || other === undefined) throw new Error('The store lacks spaces');
  const hours = { windowStart: space.windowStart, windowEnd: space.windowEnd };
  const week = [{ ...hours, eventFee: cents(ODD_FEE + 1) }, hours, hours, hours, hours, hours, hours];
  const terms = { eventFee: cents(ODD_FEE), week };
  accepted(await commands.catalogue.changeSpace({ spaceId: space.spaceId, terms }, BY_OPERATOR));
  const wanted = { discountPercent: 17, fees: [{ spaceId: space.spaceId, eventFee: cents(ODD_FEE + 2) }] };
  const of = { communityId: community.id };
  const added = accepted(await commands.customers.add({ ...of, name: 'Choir', wanted: {} }, BY_OPERATOR));
  customer = added.brandId;
  const { brandId: id } = added;
  accepted(await commands.customers.describe({ ...of, brandId: id, wanted, seen: {} }, BY_OPERATOR));
  accepted(await commands.customers.describe({ ...of, brandId: brand.id, wanted, seen: {} }, BY_OPERATOR));
  const details = { spaceId: spaceId(space.spaceId), date: inDays(70), startHour: space.windowStart };
  approved = accepted(
    await commands.bookings.enter({ enteredBy: community.id, brandId: id, details, entry: {} }, BY_OPERATOR),
  ).bookingId;

  const all = await queries.bookings.page(community, { direction: 'ascending', limit: 3_000 });
  const pending = all.bookings.filter(
    ({ status, expiresAt }) => status === 'Pending' && Date.parse(expiresAt) > Date.now(),
  );
  const limit = Number(CONFIRM_ABOVE) * 100;
  cheap = pending.find(({ totalPrice }) => totalPrice <= limit)?.bookingId ?? expect.fail('No cheap request');
  dear = pending.find(({ totalPrice }) => totalPrice > limit)?.bookingId ?? expect.fail('No dear request');
  const spaces = [...(await queries.spaces.list(community)), ...(await queries.spaces.list(brand))];
  const known = new Set<number>([ODD_FEE + 1, ODD_FEE + 2]);
  for (const { eventFee } of spaces) for (const each of pricesOf(eventFee)) known.add(each);
  for (const { eventFee, serviceFee, totalPrice } of all.bookings)
    for (const each of [eventFee, serviceFee, totalPrice]) known.add(each);
  amounts = searchFor([...known]);
}, 120_000);
afterAll(() => running.stop());

const pricesOf = (eventFee: number): readonly number[] => {
  const { serviceFee, totalPrice } = priceOf(cents(eventFee), 15);
  return [eventFee, serviceFee, totalPrice];
};

/** A currency beside digits, a known price as pages and forms write it, in cents, or as JSON has it. */
function searchFor(known: readonly number[]): RegExp {
  const written = known.flatMap((each) => [formatAmount(cents(each)), formatAmount(cents(each)).replaceAll(',', '')]);
  const inCents = known.filter((each) => each >= 100_00).map(String);
  const fields = 'totalPrice|eventFee|serviceFee|fees|discountPercent|charge|refund|paid';
  return new RegExp(
    [
      String.raw`[$€£]\s?-?\d`,
      String.raw`\b(?:USD|EUR)\s\d`,
      String.raw`\d\s?(?:USD|EUR)\b`,
      String.raw`(?<![\d.])(?:${[...written, ...inCents].map((each) => each.replaceAll('.', '\\.')).join('|')})(?![\d])`,
      `"(?:${fields})"`,
    ].join('|'),
  );
}

/** The part around an amount that was found; undefined if none was. */
function amountIn(text: string): string | undefined {
  const found = amounts.exec(text);
  return found === null ? undefined : text.slice(Math.max(0, found.index - 60), found.index + 30);
}

/** Without the parts that no person reads: ids of streams and hashes in addresses. */
const shown = (page: Page): string => page.text.replaceAll(/(?:csrf|once|requestKey)" value="[^"]*"/g, '');

const MORE: Readonly<Record<Kind, readonly string[]>> = {
  Community: [
    ...[
      'bookings.csv?when=all',
      'charges.csv',
      'inbox?sort=date',
      'bookings?when=all&status=Cancelled',
      'charges?by=approval',
    ],
    ...['history?topic=spaces', 'spaces?q=room', 'reviews?rating=2'],
  ],
  Brand: [
    'bookings.csv?when=all',
    'charges.csv',
    'find?sort=rating',
    'bookings?when=all',
    'bookings/new',
    'charges?by=approval',
  ],
};

/** The pages that the tests of every page know, and some that only this role has, as a member with this role sees them. */
async function everyPage(kind: Kind, role: Role): Promise<ReadonlyMap<string, Page>> {
  const browser = await signedIn(kind, role);
  const paths = pages.filter(({ who }) => who === kind.toLowerCase()).map(({ path }) => path);
  const own =
    kind === 'Community' ? [`customers/${customer}`, `bookings/${approved}`, `bookings/${approved}/cancel`] : [];
  const opened = new Map<string, Page>();
  for (const path of [...paths, ...[...MORE[kind], ...own].map((one) => `/console/${one}`)])
    opened.set(path, await browser.open(path));
  // Pages that only links lead to.
  for (const page of [...opened.values()])
    for (const [, href = ''] of page.text.matchAll(/<a\b[^>]* href="(\/console[^"#]*)"/g)) {
      const path = href.replaceAll('&amp;', '&');
      const kindOf = (one: string) => one.split('?', 1)[0]?.replaceAll(/\d+|wh_\w+|[\da-f-]{36}/g, '0');
      if ([...opened.keys()].every((one) => kindOf(one) !== kindOf(path))) opened.set(path, await browser.open(path));
    }
  return opened;
}

describe.each(['Community', 'Brand'] as const)('a member of a %s', (kind) => {
  test.each(['ViewerWithoutAmounts', 'CoordinatorWithoutAmounts'] as const)(
    'finds no amount on any page or in any file as a %s',
    { timeout: 120_000 },
    async (role) => {
      const opened = await everyPage(kind, role);
      const found = [...opened].flatMap(([path, page]) => {
        const amount = amountIn(shown(page));
        return amount === undefined ? [] : [`${path} (${page.status}): ${amount}`];
      });
      expect(found).toEqual([]);
      expect([...opened.values()].filter(({ status }) => status === 200).length).toBeGreaterThan(15);
      expect(opened.get('/console/charges')?.status).toBe(403);
      expect(opened.get('/console/charges.csv')?.text).toContain('Only a member who sees amounts');
    },
  );

  test('finds amounts by the same search as a Manager', { timeout: 120_000 }, async () => {
    const opened = await everyPage(kind, 'Manager');
    const priced = [...opened].filter(([, page]) => amountIn(shown(page)) !== undefined).map(([path]) => path.slice(9));
    const expected =
      kind === 'Community'
        ? [
            'overview',
            'inbox',
            'bookings',
            'bookings.csv?when=all',
            'customers',
            `customers/${customer}`,
            'spaces',
            'spaces/1',
          ]
        : ['overview', 'find', 'bookings', 'bookings.csv?when=all', 'find/compare?space=1&space=2&space=3&space=4'];
    expect(priced).toEqual(expect.arrayContaining([...expected, 'charges', 'charges.csv']));
    if (kind === 'Community')
      expect(priced).toEqual(
        expect.arrayContaining(['history', `bookings/${approved}`, `bookings/${approved}/cancel`]),
      );
    expect(priced.some((path) => path.startsWith(kind === 'Community' ? 'calendar/week/' : 'find/1?date='))).toBe(true);
  });

  test('gets no amounts in an app over REST and MCP, and cannot choose by them', { timeout: 60_000 }, async () => {
    const answers = async (role: Role) => {
      const consent = { email: emailOf(kind, role), password: PASSWORD, account: accountKey(accounts[kind]) };
      const { access_token: token } = await (await TestApp.register(running.url)).tokens({ ...consent, scope: SCOPE });
      const get = async (path: string, etag = '') => {
        const headers = { authorization: `Bearer ${token}`, 'if-none-match': etag };
        const answer = await fetch(`${running.url}/api/v1${path}`, { headers });
        return { status: answer.status, text: await answer.text(), etag: answer.headers.get('etag') ?? '' };
      };
      const id = kind === 'Community' ? approved : 3;
      const paths = [
        '/spaces',
        '/spaces?guests=2',
        '/spaces/1',
        '/bookings',
        `/bookings/${id}`,
        `/bookings/${id}/history`,
      ];
      const rest: Awaited<ReturnType<typeof get>>[] = [];
      for (const path of [...paths, ...(kind === 'Community' ? ['/customers'] : [])]) rest.push(await get(path));
      const chosen = [await get('/spaces?maxPrice=100'), await get('/spaces?sort=price')];
      const { client } = await connect(running.url, consent);
      const call = async (name: string, input = {}) =>
        JSON.stringify(await client.callTool({ name, arguments: input }));
      const tools = [
        await call('find_spaces', { limit: 500 }),
        await call('list_bookings', { limit: 500 }),
        await call('booking_history', { bookingId: id }),
      ];
      const refused = [await call('find_spaces', { maxPrice: 100 }), await call('find_spaces', { sort: 'price' })];
      await client.close();
      return { rest, tools, chosen, refused, get, token };
    };
    const [blind, seeing] = [await answers(BLIND[kind]), await answers('Manager')];
    expect(blind.rest.map(({ status, text }) => [status, amountIn(text)])).toEqual(
      blind.rest.map(() => [200, undefined]),
    );
    expect(seeing.rest.map(({ text }) => amountIn(text))).not.toContain(undefined);
    expect(blind.tools.map(amountIn)).toEqual(blind.tools.map(() => undefined));
    expect(blind.tools.every((text) => !text.includes('isError'))).toBe(true);
    expect(seeing.tools.map((text) => /totalPrice/.test(text))).toEqual(seeing.tools.map(() => true));
    // The rest is the same.
    const withoutPrices = (text: string) => JSON.parse(text)[0]?.name ?? JSON.parse(text).name;
    expect(withoutPrices(blind.rest[0]?.text ?? '')).toBe(withoutPrices(seeing.rest[0]?.text ?? ''));
    for (const { status, text } of blind.chosen)
      expect([status, JSON.parse(text)]).toMatchObject([403, { error: 'InsufficientPermissions' }]);
    expect(seeing.chosen.map(({ status }) => status)).toEqual([200, 200]);
    for (const text of blind.refused) expect(text).toContain('InsufficientPermissions');
    for (const text of seeing.refused) expect(text).not.toContain('InsufficientPermissions');
    const added = async (customerOf: object) => {
      const headers = { authorization: `Bearer ${blind.token}`, 'content-type': 'application/json' };
      const answer = await fetch(`${running.url}/api/v1/customers`, {
        method: 'POST',
        headers,
        body: JSON.stringify(customerOf),
      });
      return [answer.status, amountIn(await answer.text())];
    };
    if (kind === 'Community') {
      expect(await added({ name: 'Band', discountPercent: 5 })).toEqual([403, undefined]);
      expect(await added({ name: 'Band', contact: 'Ada' })).toEqual([201, undefined]);
    }
    // What a client has stored is not current for a member who sees other fields.
    expect((await blind.get('/spaces/1', seeing.rest[2]?.etag)).status).toBe(200);
  });
});

describe('a Coordinator without amounts', () => {
  const CONSOLE = '/console';

  test('cannot find out an amount by a filter, an order or a search', async () => {
    const [desk, planner] = [await signedIn('Community', BLIND.Community), await signedIn('Brand', BLIND.Brand)];
    const tried = [
      await desk.open(`${CONSOLE}/inbox?min=100`),
      await desk.open(`${CONSOLE}/inbox?max=100`),
      await planner.open(`${CONSOLE}/find?max=100`),
      await planner.open(`${CONSOLE}/find?sort=price`),
    ];
    for (const page of tried)
      expect([page.status, page.text]).toEqual([422, expect.stringContaining('You do not see amounts')]);
    const csrf = (await desk.open(`${CONSOLE}/inbox`)).form('/console/sign-out').body.get('csrf') ?? '';
    const body = new URLSearchParams({ csrf, all: 'yes', list: 'min=100', reason: 'No' });
    const all = await desk.request(`${CONSOLE}/inbox/decline`, { method: 'POST', body });
    expect((await desk.open(all.location ?? expect.fail())).flash).toContain('fix the filter first');
  });

  test('approves what needs no confirmation, and leaves the rest to others, one by one and several at once', async () => {
    const { core } = running.service;
    const statusOf = async (id: number) => (await core.queries.bookings.get(accounts.Community, id))?.status;
    const desk = await signedIn('Community', BLIND.Community);
    const page = await desk.open(`${CONSOLE}/bookings/${dear}`);
    expect(page.text).toContain('A member who sees amounts has to approve it');
    expect(page.text).not.toContain(`/bookings/${dear}/approve`);
    const csrf = page.form('/console/sign-out').body.get('csrf') ?? '';
    const send = async (path: string, fields: Readonly<Record<string, string>>) => {
      const answer = await desk.request(path, { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) });
      return answer.location === undefined ? answer : desk.open(answer.location);
    };
    const confirmed = String((await core.queries.bookings.get(accounts.Community, dear))?.totalPrice);
    const refused = await send(`${CONSOLE}/bookings/${dear}/approve`, { confirmed });
    expect(refused.flash).toContain('A member who sees amounts has to approve it');
    const lower = await send(`${CONSOLE}/bookings/${cheap}/approve`, { eventFee: '1' });
    expect(lower.status).toBe(403);
    expect([await statusOf(dear), await statusOf(cheap)]).toEqual(['Pending', 'Pending']);

    const several = new URLSearchParams({ csrf });
    for (const id of [dear, cheap]) several.append('id', String(id));
    const answer = await desk.request(`${CONSOLE}/inbox/approve`, { method: 'POST', body: several });
    const { flash, text } = await desk.open(answer.location ?? expect.fail());
    expect(flash).toContain('1 request approved');
    expect(flash).toContain('A member who sees amounts has to approve it');
    expect(amountIn(text)).toBeUndefined();
    expect([await statusOf(dear), await statusOf(cheap)]).toEqual(['Pending', 'Approved']);
  });

  test('enters a booking at the agreed price, and cannot give one; what was agreed stays when contact and note change', async () => {
    const { core } = running.service;
    const desk = await signedIn('Community', BLIND.Community);
    const day = inDays(77);
    const page = await desk.open(`${CONSOLE}/bookings/enter?space=1&date=${day}&customer=%23${customer}`);
    expect(page.text).not.toContain('name="eventFee"');
    const typed = { customer: `#${customer}`, startHour: '10', eventFee: '1.00' };
    expect((await desk.send(page, '/bookings/enter', typed)).status).toBe(403);
    const { eventFee: _, ...allowed } = typed;
    const entered = await desk.send(page, '/bookings/enter', allowed);
    expect(entered.flash).toContain('Entered for');
    expect(amountIn(entered.text)).toBeUndefined();
    const { bookings } = await core.queries.bookings.page(accounts.Community, {
      startDate: day,
      endDate: day,
      direction: 'ascending',
      limit: 100,
    });
    expect(bookings.find(({ brandId: id }) => id === customer)?.eventFee).toBe(ODD_FEE + 2);
    await desk.send(await desk.open(`${CONSOLE}/customers/${customer}`), `/customers/${customer}`, { note: 'Sings.' });
    const kept = await core.queries.customers.get(communityId(accounts.Community.id), brandId(customer));
    expect(kept).toMatchObject({ note: 'Sings.', discountPercent: 17, fees: [{ eventFee: ODD_FEE + 2 }] });
  });

  test('cancels and requests without being told a price', async () => {
    const [desk, planner] = [await signedIn('Community', BLIND.Community), await signedIn('Brand', BLIND.Brand)];
    const path = `${CONSOLE}/bookings/${approved}/cancel`;
    const cancelled = await desk.send(await desk.open(path), path, { reason: 'We are sorry.' });
    expect(cancelled.flash).toContain('What was charged was refunded');
    expect(amountIn(cancelled.text)).toBeUndefined();
    const form = await planner.open(`${CONSOLE}/find/1?date=${inDays(78)}`);
    expect(form.text).not.toContain('name="price"');
    const requested = await planner.send(form, '/find/1', { startHour: '12' });
    expect(requested.flash).toContain('Request sent');
    expect(amountIn(requested.text)).toBeUndefined();
  });
});
