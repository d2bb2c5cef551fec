import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';
import { BRAND, PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { REDIRECT, TestApp } from './test-app.ts';

/** Clients with names and addresses that mislead the user. */

let database: TestDatabase;
let running: RunningServer;

beforeAll(async () => {
  database = await createSqliteDatabase();
  running = await runServer(await database.open(), { secretKey: randomBytes(32) });
});
afterAll(async () => {
  await running.close();
  await database.remove();
});

const register = async (metadata: object) => {
  const response = await fetch(`${running.url}/connect/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', ...metadata }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
};

/** A client that was registered before names were checked. */
async function registeredBefore(client_name: string, redirect = REDIRECT): Promise<string> {
  const client_id = `old-${randomBytes(6).toString('hex')}`;
  await running.server.clients.adapter.upsert(
    client_id,
    {
      client_id,
      client_name,
      redirect_uris: [redirect],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      application_type: new URL(redirect).protocol === 'https:' ? 'web' : 'native',
    },
    0,
  );
  return client_id;
}

async function pagesFor(clientId: string, redirect = REDIRECT): Promise<{ signIn: Page; consent: Page }> {
  const app = await TestApp.register(running.url);
  const { url } = await app.authorizationUrl({ client_id: clientId, redirect_uri: redirect });
  const browser = new Browser(running.url);
  const signIn = await browser.open(url);
  const consent = await browser.send(signIn, '/sign-in', { email: running.user.email, password: PASSWORD });
  return { signIn, consent };
}

const INVISIBLE = 'client_name must not have control, format or other invisible characters.';

const HOSTILE: readonly [what: string, name: string, description?: string][] = [
  ['turned round (RLO)', 'gro.liam \u202e moc.eugnev'],
  ['an open isolate (RLI)', 'App \u2067 x'],
  ['a closing isolate (PDI)', 'App \u2069 x'],
  ['a right-to-left mark', 'App\u200f!'],
  ['a zero-width space', 'Venue\u200bBooking'],
  ['a zero-width joiner between letters', 'Venue\u200dBooking'],
  ['a byte order mark', '\ufeffVenue Booking'],
  ['a soft hyphen', 'Ven\u00adue'],
  ['tag characters', 'App\u{e0041}\u{e0042}'],
  ['a letter of Braille without dots', 'Venue\u2800Booking'],
  ['a line feed', 'App\nis safe'],
  ['a C1 control', 'App\u0085'],
  ['a line separator', 'App\u2028is safe'],
  ['a private-use character', 'App\ue000'],
  ['half of a surrogate pair', 'App\ud800', 'client_name must be Unicode text: it has half of a surrogate pair.'],
  ['U+0000', 'App\u0000', 'client_name must not have the character U+0000.'],
];

describe('names', () => {
  test.each(HOSTILE)('refuses at registration: %s', async (_what, client_name, description = INVISIBLE) => {
    const { status, body } = await register({ client_name });
    expect([status, body.error, body.error_description]).toEqual([400, 'invalid_client_metadata', description]);
  });

  test.each(['Café Nørre 2', 'تطبيق الحجز', 'יומן', '予約アプリ', 'Studio 👩‍💻🏳️‍🌈 🏴󠁧󠁢󠁳󠁣󠁴󠁿', 'हिन्दी'])(
    'accepts %s',
    async (client_name) => {
      expect((await register({ client_name })).status).toBe(201);
    },
  );

  test.each([
    ['no-break spaces', `Venue\u00a0\u00a0\u00a0Booking`],
    ['narrow and wide ones', '\u202fVenue\u2003\u3000Booking\u00a0'],
    ['plain ones', '  Venue   Booking '],
  ])('collapses and trims %s in a name', async (_what, client_name) => {
    const { status, body } = await register({ client_name });
    expect([status, body.client_name]).toEqual([201, 'Venue Booking']);
    expect((await pagesFor(body.client_id ?? '')).consent.text).toContain('<bdi>Venue Booking</bdi>');
    const own = { account: BRAND, name: client_name } as const;
    const added = await running.server.clients.addClient(own, BY_OPERATOR);
    expect(added).toMatchObject({ name: 'Venue Booking' });
  });

  test('the same rules apply to an account’s own client', async () => {
    const name = 'Nightly \u202e import';
    const added = await running.server.clients.addClient({ account: BRAND, name }, BY_OPERATOR);
    expect(isRefusal(added) && added.details).toBe('name must not have control, format or other invisible characters.');
  });

  /** Our own text on the page, without values supplied by the app. */
  const ours = ({ text }: Page) => text.replace(/<dd\b.*?<\/dd>/gs, '');

  test.each([
    ['turns the rest of the line round', 'Calendar \u202e'],
    ['talks into our sentence', 'Calendar, verified by Venue Booking. It will not be able to book anything'],
    ['asks a question of its own', 'this safe app? It was checked by your administrator'],
  ])('a name that %s stays isolated from our text on both pages', async (_what, name) => {
    const id = await registeredBefore(name);
    const { signIn, consent } = await pagesFor(id);
    for (const page of [signIn, consent]) {
      expect(page.status).toBe(200);
      expect(page.text).toContain(`<bdi>${name}</bdi>`);
      expect(page.text.split(name)).toHaveLength(2);
      expect(ours(page)).not.toContain(name);
      expect(page.title).not.toContain(name);
    }
    expect(consent.text).toContain('It calls itself');
    expect(consent.text).toContain('This name is not verified.');
  });

  test('an app without a name is shown as unnamed, not by its id', async () => {
    const { body } = await register({});
    const { consent } = await pagesFor(body.client_id ?? '');
    expect(consent.text).toContain('nothing: it gives no name');
    expect(consent.text).not.toContain(`>${body.client_id}<`);
  });
});

describe('the redirect address', () => {
  const shown = async (redirect: string) => {
    const { consent } = await pagesFor(await registeredBefore('App', redirect), redirect);
    return /It sends you back to<\/dt>\s*<dd[^>]*>(.*?)<\/dd>/s.exec(consent.text)?.[1]?.trim();
  };

  test.each([
    ['a host with letters of another alphabet', 'https://аpple.com/cb', 'xn--pple-43d.com'],
    ['a user name that looks like a host', 'https://venue.example@evil.example/cb', 'evil.example'],
    ['a port', 'https://evil.example:8443/cb', 'evil.example:8443'],
    ['a host that starts like another', 'https://venue.example.evil.example/cb', 'venue.example.evil.example'],
    ['full-width dots', 'https://evil。example/cb', 'evil.example'],
  ])('is shown as its real host: %s', async (_what, redirect, host) => {
    expect(await shown(redirect)).toBe(`<bdi dir="ltr" class="host">${host}</bdi>`);
  });

  test.each([
    ['http://127.0.0.1:4711/cb', '127.0.0.1:4711'],
    ['http://localhost:4711/cb', 'localhost:4711'],
    ['http://[::1]:4711/cb', '[::1]:4711'],
    ['com.example.venue.google:/cb', 'com.example.venue.google:'],
  ])('is shown as a program on this device: %s', async (redirect, address) => {
    expect(await shown(redirect)).toBe(`a program on this device <bdi dir="ltr" class="host">${address}</bdi>`);
  });

  test.each([
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'view-source:https://app.example/cb',
    'search-ms:query=x',
    'search:query=x',
    'ms-msdt:/id',
    'ms-settings:/cb',
    'microsoft-edge:https://app.example/cb',
    'tel:+4930123456',
    'TEL:+4930123456',
    'sms:+4930123456',
    'mailto:ada@app.example',
    'facetime:ada@app.example',
    'facetime-audio:ada@app.example',
    'intent://app.example/cb',
    'itms-services://app.example/cb',
    'chrome://settings/cb',
    'ssh://app.example/cb',
    'ftp://app.example/cb',
    'x:/cb',
    'outlook:/cb',
    'whatsapp://send',
    'tg://resolve',
    'zoommtg://zoom.us/join',
    'bingmaps:/cb',
    'ipp://app.example/cb',
    'onenote-cmd:/cb',
    'microsoft.windows.camera:/cb',
    'com.apple.preferences:/cb',
    'newly-invented:/cb',
  ])('cannot be registered with a scheme that may be of another program: %s', async (redirect) => {
    const scheme = new URL(redirect).protocol.slice(0, -1);
    for (const field of ['redirect_uris', 'post_logout_redirect_uris']) {
      const { status, body } = await register({ [field]: [redirect] });
      expect([status, body.error]).toEqual([400, 'invalid_redirect_uri']);
      expect(body.error_description).toContain(` ${scheme}`);
    }
  });

  test.each([
    'cursor://anysphere.cursor-mcp/cb',
    'vscode://vscode.auth/cb',
    'vscode-insiders://vscode.auth/cb',
    'com.example.venue:/cb',
    'com.googleusercontent.apps.123-ab:/cb',
    'claude://cb',
  ])('can be registered with a private-use scheme: %s', async (redirect) => {
    const { status, body } = await register({ redirect_uris: [redirect] });
    expect([status, body.application_type]).toEqual([201, 'native']);
  });

  test.each([
    ['a host longer than a name can be', `https://${'a.'.repeat(130)}example/cb`],
    ['a path that turns the line round', 'https://app.example/\u202ecb'],
    ['a line feed', 'https://app.example/c\nb'],
    ['a backslash', 'https:\\\\app.example\\cb'],
    ['no slashes', 'https:app.example/cb'],
    ['one slash', 'https:/app.example/cb'],
    ['three slashes', 'https:///app.example/cb'],
  ])('cannot be registered: %s', async (_what, redirect) => {
    const { status, body } = await register({ redirect_uris: [redirect] });
    expect([status, body.error]).toEqual([400, 'invalid_redirect_uri']);
  });
});
