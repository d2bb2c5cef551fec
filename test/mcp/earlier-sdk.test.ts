import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { NOON, type RunningService, runServiceAt } from '../running-service.fixture.ts';
import { allowAccess, ClientMemory, type SignIn } from './connected-client.ts';

/** Apps on the 1.x SDK, which asks for exactly the scope of the challenge, and registers with it. */

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
let service: RunningService;
let url: string;
let signIn: SignIn;

beforeAll(async () => {
  const running = await runServiceAt();
  ({ url, service } = running);
  const brand = await service.brand();
  await service.space(await service.community());
  const user = { email: 'ada@example.com', password: 'correct horse battery' };
  accepted(await service.core.users.add({ ...user, accounts: [brand.account] }, BY_OPERATOR));
  signIn = { ...user, account: `Brand:${brand.id}` };
  await running.listen();
});
afterAll(() => service.stop());
afterEach(() => {
  vi.useRealTimers();
  parallel = 1;
  service.time.now = NOON;
});

/** Moves the clocks of the service, of oidc-provider and of the client, which all run in this process. */
function moveClock(milliseconds: number) {
  if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  vi.setSystemTime(Date.now() + milliseconds);
  service.time.now += milliseconds;
}

type Transport = Parameters<Client['connect']>[0];

/** Counts how often the user is sent to the browser. */
class EarlierMemory extends ClientMemory {
  asked = 0;
  override redirectToAuthorization(to: URL) {
    this.asked += 1;
    super.redirectToAuthorization(to);
  }
}

const underWay = new Set<Promise<unknown>>();
/** After connecting, the SDK requests a stream without waiting for the response. */
const idle = async () => {
  while (underWay.size > 0) await Promise.allSettled(underWay);
};

/** The number of calls that are refused together and then refresh their token together. */
let parallel = 1;
const waiting: (() => void)[] = [];
/** Waits until all parallel calls have arrived. */
async function together(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  if (waiting.length === parallel) for (const go of waiting.splice(0)) go();
  await promise;
}
/**
 * Sends a request. The server cannot prevent two things: this SDK gives up on a call that is refused after another call has refreshed the
 * token, and a refresh that follows the answer to another one is a replay.
 */
async function send(to: string | URL | Request, init?: RequestInit): Promise<Response> {
  if (String(init?.body).startsWith('grant_type=refresh_token')) {
    await together();
    // The call that was refused refreshes again, alone.
    parallel = 1;
  }
  const answer = await fetch(to, init);
  if (answer.status !== 401) return answer;
  const { status, headers } = answer;
  const body = await answer.text();
  await together();
  return new Response(body, { status, headers });
}

function earlierClient(memory: EarlierMemory) {
  const client = new Client({ name: 'earlier', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    authProvider: memory,
    fetch(to, init) {
      const answer = send(to, init);
      underWay.add(answer);
      const settled = () => underWay.delete(answer);
      answer.then(settled, settled);
      return answer;
    },
  });
  // Its types do not follow exactOptionalPropertyTypes.
  return { client, transport, connect: () => client.connect(transport as Transport) };
}

async function connectEarlier(memory: EarlierMemory) {
  const first = earlierClient(memory);
  await expect(first.connect()).rejects.toThrow(UnauthorizedError);
  if (memory.sentTo === undefined) throw new Error('The user was not sent to the browser');
  const back = await allowAccess(memory.sentTo, url, signIn);
  await first.transport.finishAuth(back.get('code') ?? '');
  const second = earlierClient(memory);
  await second.connect();
  return second.client;
}

test('an app on the 1.x SDK works for a week without asking its user again', async () => {
  const memory = new EarlierMemory();
  const client = await connectEarlier(memory);
  // This SDK registers and requests exactly the scope of the challenge.
  expect(memory.sentTo?.searchParams.get('scope')).toBe('service.mcp');
  expect(memory.asked).toBe(1);
  const refreshTokens = new Set<string | undefined>();
  for (let elapsed = 0; elapsed < 7 * DAY_MS; elapsed += 2 * HOUR_MS) {
    await idle();
    moveClock(2 * HOUR_MS);
    const { structuredContent } = await client.callTool({ name: 'find_spaces', arguments: {} });
    expect(structuredContent).toMatchObject({ spaces: [{ spaceId: 1 }] });
    refreshTokens.add(memory.tokens()?.refresh_token);
  }
  expect(refreshTokens.size).toBe(84);
  expect(memory.asked).toBe(1);
});

test('parallel calls all succeed after the token has expired, even if each of them refreshes it', async () => {
  const memory = new EarlierMemory();
  const client = await connectEarlier(memory);
  for (let round = 0; round < 5; round += 1) {
    await idle();
    parallel = 2;
    moveClock(2 * HOUR_MS);
    const calls = [1, 2].map(() => client.callTool({ name: 'find_spaces', arguments: {} }));
    for (const { structuredContent } of await Promise.all(calls))
      expect(structuredContent).toMatchObject({ spaces: [{ spaceId: 1 }] });
  }
  expect(memory.asked).toBe(1);
});

test('the consent page states that the app keeps its access', async () => {
  const memory = new EarlierMemory();
  await expect(earlierClient(memory).connect()).rejects.toThrow(UnauthorizedError);
  const browser = new Browser(url);
  const page = await browser.send(await browser.open(memory.sentTo ?? ''), '/sign-in', signIn);
  expect(page.text).toContain('Keep its access while you are away, until you disconnect it');
});

test('an app that did not register the grant gets no refresh token, and the consent page promises no lasting access', async () => {
  const app = await TestApp.register(url, { grant_types: ['authorization_code'], scope: 'service.mcp' });
  const { url: request } = await app.authorizationUrl({ resource: 'mcp', scope: 'service.mcp' });
  const page = await app.browser.send(await app.browser.open(request), '/sign-in', signIn);
  expect(page.text).not.toContain('Keep its access');
  const tokens = await app.tokens({ ...signIn, resource: 'mcp', scope: 'service.mcp' });
  expect(tokens.refresh_token).toBeUndefined();
});

test.each([
  ['REST', 'api', 'service.api.read'],
  ['the user’s identity', 'mcp', 'openid'],
])('issues no refresh token for %s unless it is requested', async (_what, resource, scope) => {
  const app = await TestApp.register(url);
  expect((await app.tokens({ ...signIn, resource, scope })).refresh_token).toBeUndefined();
});

test('prompt=none succeeds without new consent for an app that asks for no more than it has', async () => {
  const redirect = 'https://app.example/callback';
  const app = await TestApp.register(url, { redirect_uris: [redirect] });
  const request = { resource: 'mcp', scope: 'service.mcp', redirect_uri: redirect };
  const { url: first } = await app.authorizationUrl(request);
  const consent = await app.browser.send(await app.browser.open(first), '/sign-in', signIn);
  await app.browser.send(consent, '/consent', { account: signIn.account });
  const { url: again } = await app.authorizationUrl({ ...request, prompt: 'none' });
  const { url: back } = await app.browser.open(again);
  expect([back.searchParams.get('error'), back.searchParams.has('code')]).toEqual([null, true]);
});
