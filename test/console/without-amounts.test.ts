import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
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
import { callOperations, callTools } from './app-calls.ts';
import type { Running } from './console.fixture.ts';
import { crawl } from './crawl.ts';
import { type PageOf, startBusyPages } from './pages.ts';

/** A member without amounts finds none on any face, where the same search finds them for others. */

const PASSWORD = 'correct horse battery';
const SCOPE = 'service.api.read service.api.write service.api.webhooks service.api.customers';
const MCP_SCOPE = 'service.mcp service.mcp.customers';
/** Requests with a higher total must be confirmed: about half of those in the store. */
const CONFIRM_ABOVE = '400';
/** What no text but an amount has: a fee of 317.43, and the 15 % on top of it. */
const ODD_FEE = 317_43;

type Kind = Account['kind'];
type Sent = { readonly method?: string; readonly body?: object; readonly etag?: string };
const BLIND = 'CoordinatorWithoutAmounts';
/** The operations and tools whose answers have amounts, for those who see them. */
const PRICED: Readonly<Record<Kind, { readonly operations: readonly string[]; readonly tools: readonly string[] }>> = {
  Community: {
    operations: [
      ...['createCustomer', 'getBooking', 'getBookingHistory', 'getSpace'],
      ...['listBookings', 'listCustomers', 'listSpaces', 'moveBooking'],
    ],
    tools: ['add_customer', 'booking_history', 'find_spaces', 'list_bookings', 'list_customers'],
  },
  Brand: {
    operations: [
      ...['createBooking', 'declineMove', 'getBooking', 'getBookingHistory', 'getSpace'],
      ...['listBookings', 'listSpaces', 'moveBooking'],
    ],
    tools: [
      ...['booking_history', 'cancel_booking', 'end_move', 'find_spaces'],
      ...['list_bookings', 'move_booking', 'request_booking'],
    ],
  },
};
/** Those that the kind of account or the role of a Coordinator does not have. */
const NOT_ALLOWED: Readonly<Record<Kind, readonly string[]>> = {
  // Moves of its customers do not wait for an answer.
  Community: ['createBooking', 'declineMove', 'listWebhooks', 'createWebhook', 'deleteWebhook'],
  Brand: ['listCustomers', 'createCustomer', 'listWebhooks', 'createWebhook', 'deleteWebhook'],
};
/** In days from today. */
const FREE_DAY: Readonly<Record<Kind, number>> = { Community: 80, Brand: 110 };

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

/** The pages that the tests of every page know, and those that links lead to, as a member with this role sees them. */
async function everyPage(kind: Kind, role: Role): Promise<ReadonlyMap<string, Page>> {
  const browser = await signedIn(kind, role);
  const paths = pages.filter(({ who }) => who === kind.toLowerCase()).map(({ path }) => path);
  const own =
    kind === 'Community' ? [`customers/${customer}`, `bookings/${approved}`, `bookings/${approved}/cancel`] : [];
  return crawl(browser, [...paths, ...[...MORE[kind], ...own].map((one) => `/console/${one}`)]);
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

  /** Every operation and tool, called by an app of a member with this role. */
  async function inApp(role: Role, day: number) {
    const consent = { email: emailOf(kind, role), password: PASSWORD, account: accountKey(accounts[kind]) };
    const tokenFor = async (resource: 'api' | 'mcp', scope: string) => {
      const app = await TestApp.register(running.url);
      return `Bearer ${(await app.tokens({ ...consent, resource, scope })).access_token}`;
    };
    const authorization = await tokenFor('api', SCOPE);
    const send = async (path: string, { method = 'GET', body, etag = '' }: Sent = {}) => {
      const headers = { authorization, 'if-none-match': etag, 'content-type': 'application/json' };
      const sent = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const answer = await fetch(`${running.url}/api/v1${path}`, sent);
      return { status: answer.status, text: await answer.text(), etag: answer.headers.get('etag') ?? '' };
    };
    const bookingId = kind === 'Community' ? approved : 3;
    const known = { bookingId, movedId: approved, spaceId: 1, communityId: accounts.Community.id, day };
    const operations = await callOperations(send, known);
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: await tokenFor('mcp', MCP_SCOPE) } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${running.url}/mcp`), { requestInit }));
    const tools = await callTools(client, { ...known, day: day + 2 });
    const find = async (input: Record<string, unknown>) =>
      JSON.stringify(await client.callTool({ name: 'find_spaces', arguments: input }));
    const refused = [await find({ maxPrice: 100 }), await find({ sort: 'price' })];
    await client.close();
    return { operations, tools, refused, send };
  }
  const withAmounts = (texts: ReadonlyMap<string, { readonly text: string } | string>) =>
    [...texts]
      .filter(([, text]) => amountIn(typeof text === 'string' ? text : text.text) !== undefined)
      .map(([name]) => name);

  test('gets no amounts in an app over REST and MCP, and cannot choose by them', { timeout: 60_000 }, async () => {
    const [blind, seeing] = [await inApp(BLIND, FREE_DAY[kind]), await inApp('Manager', FREE_DAY[kind] + 10)];
    expect(withAmounts(blind.operations)).toEqual([]);
    expect(withAmounts(blind.tools)).toEqual([]);
    expect(withAmounts(seeing.operations).toSorted()).toEqual(PRICED[kind].operations);
    expect(withAmounts(seeing.tools).toSorted()).toEqual(PRICED[kind].tools);
    const done = ({ operations, tools }: typeof blind) => [
      ...[...operations].filter(([, { status }]) => status >= 400).map(([name]) => name),
      ...[...tools].filter(([, text]) => text.includes('"isError":true')).map(([name]) => name),
    ];
    expect(done(blind)).toEqual(NOT_ALLOWED[kind]);
    expect([...seeing.tools.keys()]).toEqual([...blind.tools.keys()]);
    // A search has more fields than the list.
    const searched = (each: typeof blind) => each.send('/spaces?guests=2');
    expect(amountIn((await searched(blind)).text)).toBeUndefined();
    expect(amountIn((await searched(seeing)).text)).toBeDefined();
    // The rest is the same.
    const [name, same] = [blind, seeing].map(
      ({ operations }) => JSON.parse(operations.get('getSpace')?.text ?? '').name,
    );
    expect([typeof name, name]).toEqual(['string', same]);
    for (const path of ['/spaces?maxPrice=100', '/spaces?sort=price']) {
      const { status, text } = await blind.send(path);
      expect([status, JSON.parse(text)]).toMatchObject([403, { error: 'InsufficientPermissions' }]);
      expect((await seeing.send(path)).status).toBe(200);
    }
    for (const text of blind.refused) expect(text).toContain('InsufficientPermissions');
    for (const text of seeing.refused) expect(text).not.toContain('InsufficientPermissions');
    if (kind === 'Community') {
      const body = { name: 'Band', discountPercent: 5 };
      const { status, text } = await blind.send('/customers', { method: 'POST', body });
      expect([status, amountIn(text)]).toEqual([403, undefined]);
    }
    // What a client has stored is not current for a member who sees other fields.
    const { etag = '' } = seeing.operations.get('getSpace') ?? {};
    expect((await blind.send('/spaces/1', { etag })).status).toBe(200);
  });
});

describe('a Coordinator without amounts', () => {
  test('cannot find out an amount by a filter, an order or a search', async () => {
    const [desk, planner] = [await signedIn('Community', BLIND), await signedIn('Brand', BLIND)];
    const tried = [
      await desk.open(`/console/inbox?min=100`),
      await desk.open(`/console/inbox?max=100`),
      await planner.open(`/console/find?max=100`),
      await planner.open(`/console/find?sort=price`),
    ];
    for (const page of tried)
      expect([page.status, page.text]).toEqual([422, expect.stringContaining('You do not see amounts')]);
    const { csrf } = await desk.open('/console/inbox');
    const body = new URLSearchParams({ csrf, all: 'yes', list: 'min=100', reason: 'No' });
    const all = await desk.request(`/console/inbox/decline`, { method: 'POST', body });
    expect((await desk.open(all.location ?? expect.fail())).flash).toContain('fix the filter first');
  });

  test('approves what needs no confirmation, and leaves the rest to others, one by one and several at once', async () => {
    const { core } = running.service;
    const statusOf = async (id: number) => (await core.queries.bookings.get(accounts.Community, id))?.status;
    const desk = await signedIn('Community', BLIND);
    const page = await desk.open(`/console/bookings/${dear}`);
    expect(page.text).toContain('A member who sees amounts has to approve it');
    expect(page.text).not.toContain(`/bookings/${dear}/approve`);
    const { csrf } = page;
    const send = async (path: string, fields: Readonly<Record<string, string>>) => {
      const answer = await desk.request(path, { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) });
      return answer.location === undefined ? answer : desk.open(answer.location);
    };
    const confirmed = String((await core.queries.bookings.get(accounts.Community, dear))?.totalPrice);
    const refused = await send(`/console/bookings/${dear}/approve`, { confirmed });
    expect(refused.flash).toContain('A member who sees amounts has to approve it');
    const lower = await send(`/console/bookings/${cheap}/approve`, { eventFee: '1' });
    expect(lower.status).toBe(403);
    expect([await statusOf(dear), await statusOf(cheap)]).toEqual(['Pending', 'Pending']);

    const several = new URLSearchParams({ csrf });
    for (const id of [dear, cheap]) several.append('id', String(id));
    const answer = await desk.request(`/console/inbox/approve`, { method: 'POST', body: several });
    const { flash, text } = await desk.open(answer.location ?? expect.fail());
    expect(flash).toContain('1 request approved');
    expect(flash).toContain('A member who sees amounts has to approve it');
    expect(amountIn(text)).toBeUndefined();
    expect([await statusOf(dear), await statusOf(cheap)]).toEqual(['Pending', 'Approved']);
  });

  test('enters a booking at the agreed price, and cannot give one; what was agreed stays when contact and note change', async () => {
    const { core } = running.service;
    const desk = await signedIn('Community', BLIND);
    const day = inDays(77);
    const page = await desk.open(`/console/bookings/enter?space=1&date=${day}&customer=%23${customer}`);
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
    await desk.send(await desk.open(`/console/customers/${customer}`), `/customers/${customer}`, { note: 'Sings.' });
    const kept = await core.queries.customers.get(communityId(accounts.Community.id), brandId(customer));
    expect(kept).toMatchObject({ note: 'Sings.', discountPercent: 17, fees: [{ eventFee: ODD_FEE + 2 }] });
  });

  test('cancels and requests without being told a price', async () => {
    const [desk, planner] = [await signedIn('Community', BLIND), await signedIn('Brand', BLIND)];
    const path = `/console/bookings/${approved}/cancel`;
    const cancelled = await desk.send(await desk.open(path), path, { reason: 'We are sorry.' });
    expect(cancelled.flash).toContain('What was charged was refunded');
    expect(amountIn(cancelled.text)).toBeUndefined();
    const form = await planner.open(`/console/find/1?date=${inDays(78)}`);
    expect(form.text).not.toContain('name="price"');
    const requested = await planner.send(form, '/find/1', { startHour: '12' });
    expect(requested.flash).toContain('Request sent');
    expect(amountIn(requested.text)).toBeUndefined();
  });
});
