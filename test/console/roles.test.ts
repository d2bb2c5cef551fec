import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PAGES } from '../../src/console/pages.ts';
import type { PageDeps, Routes } from '../../src/console/parts/routes.ts';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { defined } from '../../src/domain/defined.ts';
import { brandId, cents, communityId } from '../../src/domain/ids.ts';
import { isAtLeast, type LeastRole, ROLE_NAMES, ROLES, type Role, seesAmounts } from '../../src/domain/roles.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { connect } from '../mcp/connected-client.ts';
import { type Running, startDemo } from './console.fixture.ts';

/** Tries what each role may do: role × page × form, and role × route × tool of the APIs. */

const PASSWORD = 'correct horse battery';
/** The pages that are about amounts alone. */
const ABOUT_AMOUNTS = ['/console/charges', '/console/charges.csv', '/console/overview/money.csv'];
const API = 'service.api.read service.api.write service.api.webhooks service.api.customers';

type Kind = Account['kind'];
type Registered = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly least: LeastRole;
  readonly kind?: Kind;
};

let running: Running;
let accounts: Readonly<Record<Kind, Account>>;
const browsers = new Map<string, Browser>();
let routes: readonly Registered[];

const emailOf = (kind: Kind, role: Role) => `${role}.${kind}@example.com`.toLowerCase();
const browserOf = (kind: Kind, role: Role): Browser => browsers.get(emailOf(kind, role)) ?? expect.fail();

beforeAll(async () => {
  running = await startDemo({ CONSOLE_WRITES_PER_MINUTE: '1000' });
  const { core } = running.service;
  const [community] = running.demo.communities;
  const [brand] = running.demo.brands;
  accounts = {
    Community: { kind: 'Community', id: communityId(community.id) },
    Brand: { kind: 'Brand', id: brandId(brand.id) },
  };
  const sessions = { listOf: async () => [], endOf: async () => false };
  const pageViews = { inLast30Days: async () => new Map() };
  routes = await registered({ ...core, ...core.authorizationServer, sessions, pageViews, settings: core.config });
  const range = { from: inDays(20), to: inDays(20), start: 0, until: 24 } as const;
  accepted(
    await core.commands.closures.add(
      { communityId: communityId(community.id), kind: 'Closure', ...range },
      BY_OPERATOR,
    ),
  );
  for (const kind of ['Community', 'Brand'] as const)
    for (const role of ROLES) {
      const user = { email: emailOf(kind, role), password: PASSWORD };
      accepted(await core.users.add({ ...user, accounts: [accounts[kind]], role }, BY_OPERATOR));
      const browser = new Browser(running.url);
      expect((await browser.signIn(user)).status).toBe(200);
      browsers.set(user.email, browser);
    }
}, 120_000);
afterAll(() => running.stop());

/** The pages and forms of the console. What each file registers is what `pages.ts` says that it has. */
async function registered(deps: PageDeps): Promise<readonly Registered[]> {
  const all: Registered[] = [];
  for (const { load, pages, forms = [], uploads = [] } of PAGES) {
    const found = { pages: new Set<string>(), forms: new Set<string>(), uploads: new Set<string>() };
    function into(paths: Set<string>, method: 'GET' | 'POST', kind?: Kind) {
      return (path: string, least: LeastRole): void => {
        paths.add(path);
        all.push({ method, path, least, ...defined({ kind }) });
      };
    }
    const recorder = <A extends Account>(kind?: Kind): Routes<A> => ({
      get: into(found.pages, 'GET', kind),
      post: into(found.forms, 'POST', kind),
      upload: into(found.uploads, 'POST', kind),
    });
    const register = await load();
    register({ ...recorder(), community: recorder('Community'), brand: recorder('Brand') }, deps);
    const named = { pages: new Set(pages), forms: new Set(forms), uploads: new Set(uploads) };
    expect(found, register.name).toEqual(named);
  }
  return all;
}

/** The form that a path belongs to. */
const routeOf = (method: 'GET' | 'POST', path: string): Registered | undefined => {
  const [plain = ''] = path.split(/[?#]/);
  const fits = routes.filter(({ method: each, path: pattern }) => {
    const regular = pattern.replaceAll('*', '.*').replaceAll(/:\w+/g, '[^/]+');
    return each === method && new RegExp(`^${regular}$`).test(plain);
  });
  // As the router does: the one with the fewest parameters.
  return fits.toSorted((a, b) => openness(a.path) - openness(b.path))[0];
};
const openness = (pattern: string): number => (pattern.includes('*') ? 100 : 0) + [...pattern.matchAll(/:\w+/g)].length;

describe('each page and form of the console', () => {
  test('is declared for the role that it is for', () => {
    const posted = routes
      .filter(({ method, least }) => method === 'POST' && least === 'Viewer')
      .map(({ path }) => path);
    // A user's own sign-in, invitations, mail settings, shortlist, feeds and apps.
    const isOwn = (path: string) => /^\/console\/(account|invitation|mail\/settings|find\/:id\/shortlist)\b/.test(path);
    expect(posted.filter((path) => !isOwn(path))).toEqual([
      '/console/feeds',
      '/console/feeds/:id/revoke',
      '/console/apps/:id/disconnect',
    ]);
    for (const { path, least } of routes)
      if (/^\/console\/(keys|webhooks|clients|people|mail(?!\/settings))\b/.test(path))
        expect({ path, least }).toEqual({ path, least: 'Manager' });
    const coordinators = routes.filter(({ method, least }) => method === 'POST' && least === 'Coordinator');
    expect(coordinators.map(({ path }) => path).sort()).toEqual([
      '/console/bookings/:id/answer',
      '/console/bookings/:id/approve',
      '/console/bookings/:id/cancel',
      '/console/bookings/:id/decline',
      '/console/bookings/:id/messages',
      '/console/bookings/:id/move',
      '/console/bookings/:id/move/answer',
      '/console/bookings/:id/notes',
      '/console/bookings/:id/review',
      '/console/bookings/:id/withdraw-series',
      '/console/bookings/enter',
      '/console/calendar/closures/:id/bookings',
      '/console/calendar/closures/:id/cancel',
      '/console/calendar/closures/:id/change',
      '/console/calendar/closures/:id/end',
      '/console/calendar/closures/:id/leave-out',
      '/console/calendar/closures/import',
      '/console/calendar/closures/new',
      '/console/customers/:id',
      '/console/customers/new',
      '/console/find/:id',
      '/console/inbox/approve',
      '/console/inbox/decline',
      '/console/questions/:id',
    ]);
  });

  test.each(['Community', 'Brand'] as const)(
    'is refused to lesser roles of a %s, before anything is looked up',
    async (kind) => {
      const wrong: string[] = [];
      for (const role of ROLES) {
        const browser = browserOf(kind, role);
        const { csrf } = await browser.open('/console');
        for (const { method, path, least, kind: only } of routes) {
          if (only !== undefined && only !== kind) continue;
          const url = path.replaceAll(/:\w+/g, 'nope').replace('*', 'nope');
          const body = new URLSearchParams({ csrf, once: `${role}-${path}` });
          const page = await browser.request(url, method === 'POST' ? { method, body } : {});
          const isAllowed = isAtLeast(role, least) && (seesAmounts(role) || !ABOUT_AMOUNTS.includes(path));
          if (isAllowed !== (page.status !== 403)) wrong.push(`${role}: ${method} ${path} answered ${page.status}`);
          if (!isAllowed && !page.text.includes(`You are a ${ROLE_NAMES[role]} of`))
            wrong.push(`${role}: ${method} ${path} says nothing`);
          if (page.status >= 500) wrong.push(`${role}: ${method} ${path} answered ${page.status}`);
        }
      }
      expect(wrong).toEqual([]);
    },
  );

  test.each(['Community', 'Brand'] as const)(
    'is not offered by any page to those of a %s who may not use it',
    { timeout: 120_000 },
    async (kind) => {
      const wrong: string[] = [];
      const seen: Record<string, number> = {};
      for (const role of ROLES) {
        const browser = browserOf(kind, role);
        const queue = ['/console'];
        const visited = new Map<string, number>();
        while (queue.length > 0) {
          const path = queue.shift() ?? '';
          const pattern = routeOf('GET', path)?.path ?? path;
          const times = visited.get(pattern) ?? 0;
          // A few pages of each kind show all that there is.
          if (times >= 6) continue;
          visited.set(pattern, times + 1);
          const page = await browser.open(path);
          if (page.status === 403) wrong.push(`${role}: a link to ${path}`);
          if (!page.headers.get('content-type')?.startsWith('text/html')) continue;
          const [, main = ''] = page.text.split('<main', 2);
          for (const [tag, action = ''] of page.text.matchAll(
            /<(?:form|button)\b[^>]*\s(?:form)?action="([^"]+)"[^>]*>/g,
          )) {
            const route = routeOf(tag.includes('method="get"') ? 'GET' : 'POST', action);
            if (route !== undefined && !isAtLeast(role, route.least))
              wrong.push(`${role}: ${path} has a form for ${action}`);
          }
          if (main === '') wrong.push(`${role}: ${path} has no main`);
          for (const [, href = ''] of page.text.matchAll(/\shref="(\/console[^"]*)"/g)) {
            const next = href.replaceAll('&amp;', '&').split('#', 1)[0] ?? '';
            const least = routeOf('GET', next)?.least ?? 'Viewer';
            if (!isAtLeast(role, least)) wrong.push(`${role}: ${path} links to ${next}`);
            queue.push(next);
          }
        }
        seen[role] = visited.size;
      }
      expect([...new Set(wrong)]).toEqual([]);
      expect(seen.Viewer).toBeGreaterThan(8);
      expect(seen.Manager).toBeGreaterThan(seen.Viewer ?? 0);
    },
  );

  test('asks its reader for nothing that the role does not allow', async () => {
    const textFor = async (kind: Kind, role: Role, path: string) => (await browserOf(kind, role).open(path)).text;
    expect(await textFor('Brand', 'Coordinator', '/console/reviews')).toContain('Waiting for your review');
    const space = `/console/find/${running.demo.communities[0].spaces[0].id}`;
    expect(await textFor('Brand', 'Viewer', space)).toContain(
      'A Coordinator or a Manager of the brand can request it.',
    );
    expect(await textFor('Brand', 'Coordinator', space)).not.toContain('can request it.');
    expect(await textFor('Brand', 'Viewer', '/console/reviews')).not.toContain('Waiting for your review');
    expect(await textFor('Community', 'Viewer', '/console/charges?month=2026-01')).not.toContain('you approve');
    const { core } = running.service;
    const community = accepted(
      await core.commands.catalogue.addCommunity({ name: 'Quiet', timeZone: 'UTC' }, BY_OPERATOR),
    );
    const brand = accepted(await core.commands.catalogue.addBrand({ name: 'Quiet' }, BY_OPERATOR));
    const terms = {
      name: 'Hall',
      windowStart: 9,
      windowEnd: 21,
      durationHours: 2,
      eventFee: cents(100_00),
      answerHours: 24,
    };
    accepted(await core.commands.catalogue.addSpace({ ...terms, communityId: community.communityId }, BY_OPERATOR));
    const quiet: Account = { kind: 'Community', id: community.communityId };
    const planner: Account = { kind: 'Brand', id: brand.brandId };
    const open = async (account: Account, role: Role, path: string) => {
      const user = { email: `${role}.quiet.${account.kind}@example.com`.toLowerCase(), password: PASSWORD };
      accepted(await core.users.add({ ...user, accounts: [account], role }, BY_OPERATOR));
      const browser = new Browser(running.url);
      await browser.signIn(user);
      return (await browser.open(path)).text;
    };
    expect(await open(quiet, 'Manager', '/console/inbox')).toContain('your spaces are up to date');
    expect(await open(quiet, 'Coordinator', '/console/inbox')).not.toContain('your spaces are up to date');
    expect(await open(planner, 'Coordinator', '/console/reviews')).toContain('open the booking to write one');
    expect(await open(planner, 'Viewer', '/console/reviews')).not.toContain('open the booking to write one');
  });

  test('a Viewer’s decision by a form that was drawn for a Manager does nothing', async () => {
    const { core } = running.service;
    const { bookings } = await core.queries.bookings.page(accounts.Community, {
      list: { status: 'Pending' },
      direction: 'ascending',
      limit: 1,
    });
    const id = bookings[0]?.bookingId ?? expect.fail();
    const browser = browserOf('Community', 'Viewer');
    const { csrf } = await browser.open('/console');
    for (const path of [`bookings/${id}/approve`, `bookings/${id}/decline`, 'inbox/approve', 'inbox/decline']) {
      const body = new URLSearchParams({ csrf, id: String(id), reason: 'No', was: 'Pending', confirmed: 'x' });
      const page = await browser.request(`/console/${path}`, { method: 'POST', body });
      expect(page.status).toBe(403);
      expect(page.text).toContain('Nothing was done');
    }
    expect((await core.queries.bookings.get(accounts.Community, id))?.status).toBe('Pending');
  });

  test('a change of role holds for the next request of a session, and for its open pages', async () => {
    const { users } = running.service.core;
    const user = { email: 'changing@example.com', password: PASSWORD };
    const { id } = accepted(await users.add({ ...user, accounts: [accounts.Community] }, BY_OPERATOR));
    const browser = new Browser(running.url);
    await browser.signIn(user);
    expect((await browser.open('/console/keys')).status).toBe(200);
    const stream = await fetch(`${running.url}/console/live?after=x-0`, {
      headers: { cookie: `console=${browser.cookie('console')}` },
    });
    const ended = stream.text();
    accepted(await users.setRole(id, accounts.Community, 'Viewer', BY_OPERATOR));
    expect((await browser.open('/console/keys')).status).toBe(403);
    // It ends by itself, and the page connects again with its new role.
    expect(await ended).toContain('data:');
    accepted(await users.setRole(id, accounts.Community, 'Coordinator', BY_OPERATOR));
    expect((await browser.open('/console/keys')).status).toBe(403);
    expect((await browser.open('/console/calendar/closures/new')).status).toBe(200);
  });
});

/** The least role for each call of the REST API, by its description. */
const REST: Readonly<Record<string, LeastRole>> = {
  'GET /spaces': 'Viewer',
  'GET /spaces/{spaceId}': 'Viewer',
  'GET /spaces/{spaceId}/availability': 'Viewer',
  'GET /bookings': 'Viewer',
  'POST /bookings': 'Coordinator',
  'GET /bookings/{id}': 'Viewer',
  'GET /bookings/{id}/history': 'Viewer',
  'GET /customers': 'Coordinator',
  'POST /customers': 'Coordinator',
  'GET /communities/{communityId}/reviews': 'Viewer',
  'POST /bookings/{id}/move': 'Coordinator',
  'POST /bookings/{id}/move/decline': 'Coordinator',
  'GET /webhooks': 'Manager',
  'POST /webhooks': 'Manager',
  'DELETE /webhooks/{id}': 'Manager',
};

/** The least role for each tool. */
const TOOLS: Readonly<Record<string, LeastRole>> = {
  who_am_i: 'Viewer',
  find_spaces: 'Viewer',
  check_availability: 'Viewer',
  find_open_days: 'Viewer',
  list_bookings: 'Viewer',
  request_booking: 'Coordinator',
  move_booking: 'Coordinator',
  end_move: 'Coordinator',
  cancel_booking: 'Coordinator',
  booking_history: 'Viewer',
  list_reviews: 'Viewer',
};

describe.each(ROLES)('a token of a %s', (role) => {
  test('opens the routes of the REST API that the role allows, also with more scopes', async () => {
    const described: { paths: Record<string, object> } = JSON.parse(
      readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
    );
    const operations = Object.entries(described.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(operations.sort()).toEqual(Object.keys(REST).sort());
    const tokenOf = async (kind: Kind): Promise<string> => {
      const app = await TestApp.register(running.url);
      const consent = { email: emailOf(kind, role), password: PASSWORD, account: accountKey(accounts[kind]) };
      const { access_token: token } = await app.tokens({ ...consent, scope: API });
      expect(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())).toMatchObject({ role });
      return token;
    };
    const tokens = { Brand: await tokenOf('Brand'), Community: await tokenOf('Community') };
    for (const [operation, least] of Object.entries(REST)) {
      const [method = '', path = ''] = operation.split(' ');
      const token = tokens[path === '/customers' ? 'Community' : 'Brand'];
      const response = await fetch(`${running.url}/api/v1${path.replaceAll(/\{\w+\}/g, 'nope')}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(method === 'POST' && { 'content-type': 'application/json' }) },
        ...(method === 'POST' && { body: '{}' }),
      });
      const body: { readonly details?: string } = response.status === 204 ? {} : JSON.parse(await response.text());
      if (isAtLeast(role, least)) expect([operation, response.status]).not.toEqual([operation, 403]);
      else {
        expect([operation, response.status, body]).toMatchObject([
          operation,
          403,
          { error: 'InsufficientPermissions' },
        ]);
        expect(body.details).toContain(`the role ${ROLE_NAMES[role]} does`);
        // Another scope would not help, so the app is not told to ask for one.
        expect(response.headers.get('www-authenticate')).toBeNull();
      }
    }
  });

  test('calls the tools that the role allows', async () => {
    const signIn = { email: emailOf('Brand', role), password: PASSWORD, account: accountKey(accounts.Brand) };
    const { client } = await connect(`${running.url}`, signIn);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual(Object.keys(TOOLS).sort());
    for (const [name, least] of Object.entries(TOOLS)) {
      const answer = await client.callTool({ name, arguments: {} });
      const text = JSON.stringify(answer.content);
      const refused = text.includes('InsufficientPermissions');
      expect([name, refused]).toEqual([name, !isAtLeast(role, least)]);
      if (refused) expect(text).toContain(`the role ${ROLE_NAMES[role]} does`);
    }
    await client.close();
  });
});

test('a change of role ends the apps of that account at once, and a new token has the new role', async () => {
  const { users } = running.service.core;
  const user = { email: 'demoted@example.com', password: PASSWORD };
  const { id } = accepted(await users.add({ ...user, accounts: [accounts.Brand, accounts.Community] }, BY_OPERATOR));
  const app = await TestApp.register(running.url);
  const statusOf = async (token: string) =>
    (await fetch(`${running.url}/api/v1/bookings`, { headers: { authorization: `Bearer ${token}` } })).status;
  const consent = { ...user, scope: `${API} offline_access` };
  const ofBrand = await app.tokens({ ...consent, account: accountKey(accounts.Brand) });
  const other = await TestApp.register(running.url);
  const ofCommunity = await other.tokens({ ...consent, account: accountKey(accounts.Community) });
  expect(await Promise.all([ofBrand, ofCommunity].map((one) => statusOf(one.access_token)))).toEqual([200, 200]);
  accepted(await users.setRole(id, accounts.Brand, 'Viewer', BY_OPERATOR));
  expect(await Promise.all([ofBrand, ofCommunity].map((one) => statusOf(one.access_token)))).toEqual([401, 200]);
  await expect(app.refresh(ofBrand.refresh_token)).rejects.toThrow();
  const again = await (await TestApp.register(running.url)).tokens({ ...consent, account: accountKey(accounts.Brand) });
  const posted = await fetch(`${running.url}/api/v1/bookings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${again.access_token}`, 'content-type': 'application/json' },
    body: '{}',
  });
  expect(posted.status).toBe(403);
});
