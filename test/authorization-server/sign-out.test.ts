import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OIDC_RECORDS } from '../../src/authorization-server/oidc-record.ts';
import { Browser } from '../browser.ts';
import { ask } from '../document-store/ask.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';
import { PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { REDIRECT, TestApp } from './test-app.ts';

const secretKey = randomBytes(32);
let database: TestDatabase;
let running: RunningServer;
let leaving: TestApp;

beforeAll(async () => {
  database = await createSqliteDatabase();
  running = await runServer(await database.open(), { secretKey });
  leaving = await TestApp.register(running.url, { post_logout_redirect_uris: [REDIRECT] });
});
afterAll(async () => {
  await running.close();
  await database.remove();
});

const records = async () => {
  const store = await (await database.open()).open(OIDC_RECORDS);
  return Array.fromAsync(store.find(ask()), ({ document }) => document.model);
};
const logout = (parameters: Record<string, string> = {}) => `/connect/logout?${new URLSearchParams(parameters)}`;

describe('without a session', () => {
  test('repeated sign-out requests write nothing and set no cookie', async () => {
    const before = (await records()).length;
    for (let count = 0; count < 20; count += 1) {
      const page = await new Browser(running.url).request(logout(count % 2 === 0 ? {} : { client_id: leaving.id }));
      expect(page.headers.getSetCookie()).toEqual([]);
    }
    const forged = new Browser(running.url);
    forged.setCookie('venue_session', randomBytes(20).toString('base64url'));
    await forged.open(logout());
    expect((await records()).length).toBe(before);
  });

  test('the page states that the user is signed out', async () => {
    const page = await new Browser(running.url).open(logout());
    expect([page.status, page.title]).toEqual([200, 'You are signed out · Venue Booking']);
  });

  test('the page asks before it redirects to an address that any client could have registered', async () => {
    const parameters = { client_id: leaving.id, post_logout_redirect_uri: REDIRECT, state: 'a b' };
    const page = await new Browser(running.url).open(logout(parameters));
    expect([page.url.origin, page.status, page.title]).toEqual([
      running.url,
      200,
      'You are signed out · Venue Booking',
    ]);
    expect(page.headers.getSetCookie()).toEqual([]);
    expect(page.text).not.toContain('<script>');
    expect(page.text).toContain(`<bdi dir="ltr" class="host">${new URL(REDIRECT).host}</bdi>`);
    expect(page.text).toContain('<bdi>Test app</bdi>');
    expect(page.text).toContain(`href="${REDIRECT}?state=a+b"`);
  });

  test('the page links to an app with a private-use scheme', async () => {
    const post_logout_redirect_uri = 'cursor://anysphere.cursor-mcp/signed-out';
    const app = await TestApp.register(running.url, { post_logout_redirect_uris: [post_logout_redirect_uri] });
    const page = await new Browser(running.url).open(logout({ client_id: app.id, post_logout_redirect_uri }));
    expect(page.text).toContain(`href="${post_logout_redirect_uri}"`);
  });

  test.each<[string, Record<string, string>, number]>([
    ['an address that the app did not register', { post_logout_redirect_uri: 'https://evil.example/' }, 400],
    ['an unknown app', { client_id: 'nobody', post_logout_redirect_uri: 'https://evil.example/' }, 400],
  ])('does not redirect to %s', async (_what, parameters, status) => {
    const page = await new Browser(running.url).open(logout({ client_id: leaving.id, ...parameters }));
    expect([page.url.origin, page.status]).toEqual([running.url, status]);
  });

  test('does not redirect to an address without an app', async () => {
    const page = await new Browser(running.url).open(logout({ post_logout_redirect_uri: 'https://evil.example/' }));
    expect([page.url.origin, page.title]).toEqual([running.url, 'You are signed out · Venue Booking']);
  });

  test('too many requests from one address are refused', async () => {
    const limited = await runServer(await database.open(), { secretKey, limits: { authorizations: 2 } });
    const statuses: number[] = [];
    for (let count = 0; count < 3; count += 1) statuses.push((await fetch(`${limited.url}/connect/logout`)).status);
    await limited.close();
    expect(statuses).toEqual([200, 200, 429]);
  });
});

describe('with a session', () => {
  async function signedIn() {
    const app = await TestApp.register(running.url, { post_logout_redirect_uris: [REDIRECT] });
    await app.tokens({ email: running.user.email, password: PASSWORD, account: 'Brand:7' });
    return app;
  }
  const isSignedIn = async ({ browser }: TestApp) => {
    const page = await browser.open((await leaving.authorizationUrl()).url);
    return !page.text.includes('name="password"');
  };

  test('staying signed in keeps the session, and the page confirms it', async () => {
    const app = await signedIn();
    const asked = await app.browser.open(logout({ client_id: app.id }));
    expect(asked.text).toContain('Stay signed in');
    const page = await app.browser.send(asked, '/logout/confirm');
    expect([page.status, page.title]).toEqual([200, 'You are still signed in · Venue Booking']);
    expect(await isSignedIn(app)).toBe(true);
  });

  test('signing out ends the session, and the page confirms it', async () => {
    const app = await signedIn();
    const asked = await app.browser.open(logout({ client_id: app.id }));
    const page = await app.browser.send(asked, '/logout/confirm', { logout: 'yes' });
    expect([page.status, page.title]).toEqual([200, 'You are signed out · Venue Booking']);
    expect(await isSignedIn(app)).toBe(false);
  });

  test('the page shows the destination of either answer', async () => {
    const app = await signedIn();
    const own = await app.browser.open(logout({ client_id: app.id }));
    expect(own.text).not.toContain('class="host"');
    const asked = await app.browser.open(logout({ client_id: app.id, post_logout_redirect_uri: REDIRECT }));
    expect(asked.text).toContain(`<bdi dir="ltr" class="host">${new URL(REDIRECT).host}</bdi>`);
    expect(asked.text).toContain('You go on to this address either way.');
    for (const answer of [{}, { logout: 'yes' }]) {
      const again = await app.browser.open(logout({ client_id: app.id, post_logout_redirect_uri: REDIRECT }));
      expect((await app.browser.send(again, '/logout/confirm', answer)).url.href).toBe(REDIRECT);
    }
  });

  test('a form whose session has ended elsewhere gets the signed-out page', async () => {
    const app = await signedIn();
    const asked = await app.browser.open(logout({ client_id: app.id, post_logout_redirect_uri: REDIRECT }));
    await app.browser.send(await app.browser.open(logout()), '/logout/confirm', { logout: 'yes' });
    for (const headers of [{}, { accept: '*/*' }]) {
      const page = await app.browser.send(asked, '/logout/confirm', { logout: 'yes' }, headers);
      expect([page.url.pathname, page.status]).toEqual(['/connect/logout/success', 200]);
      expect(page.title).toBe('You are signed out · Venue Booking');
    }
  });

  test('a forged form ends no session', async () => {
    const app = await signedIn();
    const forged = await app.browser.post('/connect/logout/confirm', new URLSearchParams({ logout: 'yes', xsrf: 'x' }));
    expect([forged.status, forged.title]).toEqual([400, 'This request cannot be completed · Venue Booking']);
    expect(await isSignedIn(app)).toBe(true);
  });

  test('reopening the address of the form asks again', async () => {
    const app = await signedIn();
    const page = await app.browser.open('/connect/logout/confirm');
    expect([page.url.pathname, page.status, page.title]).toEqual(['/connect/logout', 200, 'Sign out · Venue Booking']);
  });

  test('the page lists what signing out ends', async () => {
    const app = await signedIn();
    const page = await app.browser.open(logout());
    expect(page.text).toContain('the console in this browser');
    expect(page.text).toContain('Connected apps stay connected');
  });
});
