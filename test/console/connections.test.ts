import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OPERATOR } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, communityId, spaceId } from '../../src/domain/ids.ts';
import { DEFAULT_ANSWER_HOURS } from '../../src/domain/limits.ts';
import { Browser, type Page } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { answering, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let community: Browser;
let other: Browser;
let receiver: Receiver;

beforeAll(async () => {
  running = await startDemo();
  const [harbour, union] = running.demo.communities;
  community = new Browser(running.url);
  await community.signIn(harbour.user);
  other = new Browser(running.url);
  await other.signIn(union.user);
  receiver = await startReceiver(answering(200, {}, '<b>thank you</b>'));
});
afterAll(async () => {
  await running.stop();
  await receiver.close();
});

const secretIn = (page: Page): string =>
  /<div class="secret">.*?<code[^>]*>([^<]+)<\/code>/s.exec(page.text)?.[1] ?? '';
const api = (key: string) =>
  fetch(`${running.url}/api/v1/bookings`, { headers: { authorization: `Bearer ${key}` } }).then(({ status }) => status);

/** Reloads a page until it shows something. */
const shown = (url: string | URL, what: RegExp): Promise<Page> =>
  eventually(async () => {
    const page = await community.open(url);
    expect(page.text).toMatch(what);
    return page;
  });

test('the sample call shown with a new key succeeds with that key', async () => {
  const northwind = new Browser(running.url);
  await northwind.signIn(running.demo.brands[0].user);
  const called = async (browser: Browser, permission: string) => {
    const made = await browser.send(await browser.open('/console/keys'), '/console/keys', { label: 'Try', permission });
    const [, command = ''] = /<pre>(.*?)<\/pre>/s.exec(made.text) ?? [];
    const text = command.replaceAll('&#39;', "'").replaceAll('&quot;', '"');
    const [url = '', body] = [/'(http[^']*)'/, /-d '([^']*)'/].map((part) => part.exec(text)?.[1]);
    const headers = { authorization: `Bearer ${secretIn(made)}`, 'content-type': 'application/json' };
    return (await fetch(url, body === undefined ? { headers } : { method: 'POST', headers, body })).status;
  };
  for (const permission of ['ReadAvailability', 'ReadBookings', 'ReadReviews', 'Webhooks']) {
    expect(await called(community, permission), permission).toBe(200);
    expect(await called(northwind, permission), permission).toBe(200);
  }
  expect(await called(northwind, 'WriteBookings')).toBe(201);
});

test('a key has the chosen permissions, is shown once, and stops working when it is revoked', async () => {
  const form = await community.open('/console/keys');
  const made = await community.send(form, '/console/keys', { label: '<b>Door</b>', permission: ['ReadBookings'] });
  const key = secretIn(made);
  expect(key).toMatch(/^vbs_live_/);
  expect(made.text).toContain('&lt;b&gt;Door&lt;/b&gt;');
  expect(await api(key)).toBe(200);

  const list = await shown('/console/keys', /Door.*(?:just now|minute)/s);
  expect(list.text).not.toContain(key);
  const id = /\/console\/keys\/(key_[\w-]+)\/revoke/.exec(list.text)?.[1];
  const revoked = await community.send(list, `/console/keys/${id}/revoke`);
  expect(revoked.flash).toContain('API key revoked.');
  expect(await api(key)).toBe(401);
});

test('a double click creates one key and shows it both times', async () => {
  const form = await community.open('/console/keys');
  const { target, body } = form.form('/console/keys', { label: 'Twice', permission: ['ReadBookings'] });
  const send = () => community.request(target, { method: 'POST', body });
  const [one, two] = await Promise.all([send(), send()]);
  expect(one?.text).toContain('vbs_live_');
  expect(/vbs_live_\w+/.exec(two?.text ?? '')?.[0]).toBe(/vbs_live_\w+/.exec(one?.text ?? '')?.[0]);
  const keys = await running.service.core.queries.apiKeys.listOfAccount({ kind: 'Community', id: communityId(1) });
  expect(keys.filter(({ label }) => label === 'Twice')).toHaveLength(1);
});

test('an invalid form keeps its input and can be corrected and submitted again', async () => {
  const form = await community.open('/console/keys');
  const none = await community.send(form, '/console/keys', { label: 'Later' });
  expect(none.status).toBe(422);
  expect(none.text).toContain('Choose at least one of the permissions.');
  expect(none.text).toContain('value="Later"');
  const nameless = await community.send(form, '/console/keys', { label: ' ', permission: ['ReadReviews'] });
  expect(nameless.text).toContain('“Name” must have 1 to 100 characters.');
  expect(nameless.text).toMatch(/value="ReadReviews" checked/);
  const neither = await community.send(form, '/console/keys', { label: ' ' });
  for (const field of ['label', 'permission']) expect(neither.text).toContain(`<a href="#${field}">`);
  const hooks = await community.open('/console/webhooks');
  const nothing = await community.send(hooks, '/console/webhooks', { url: 'nowhere', event: [] });
  for (const field of ['url', 'event']) expect(nothing.text).toContain(`<a href="#${field}">`);
  expect(secretIn(await community.send(form, '/console/keys', { label: 'Now', permission: ['ReadReviews'] }))).not.toBe(
    '',
  );
});

test('a community cannot choose the permission to request bookings', async () => {
  const form = await community.open('/console/keys');
  expect(form.text).not.toContain('value="WriteBookings"');
  const forged = await community.send(form, '/console/keys', { label: 'Forged', permission: ['WriteBookings'] });
  expect(forged.status).toBe(422);
});

test("another account's key cannot be revoked", async () => {
  const list = await community.open('/console/keys');
  const id = /\/console\/keys\/(key_[\w-]+)\/revoke/.exec(list.text)?.[1];
  const { csrf } = await other.open('/console/keys');
  const body = new URLSearchParams({ csrf });
  expect((await other.request(`/console/keys/${id}/revoke`, { method: 'POST', body })).status).toBe(404);
});

test('a webhook can be registered, tested, rotated, disabled and removed, and its deliveries inspected and resent', async () => {
  const form = await community.open('/console/webhooks');
  const wrong = await community.send(form, '/console/webhooks', { url: 'not a url', event: ['BookingRequested'] });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('id="url-error"');
  expect(wrong.text).toContain('value="not a url"');

  const made = await community.send(form, '/console/webhooks', {
    url: receiver.url,
    event: ['BookingRequested', 'ReviewPosted'],
  });
  expect(secretIn(made)).toMatch(/^whsec_/);
  const path = /href="(\/console\/webhooks\/wh_[\w-]+)"/.exec(made.text)?.[1] ?? '';

  const sent = await community.send(await community.open(path), `${path}/test`);
  expect(sent.flash).toBe('');
  const delivered = await shown(sent.url, /Response 200/);
  expect(delivered.text).toContain('&lt;b&gt;thank you&lt;/b&gt;');
  expect(delivered.text).toContain('&quot;event&quot;: &quot;Test&quot;');
  const before = receiver.received.length;
  await community.send(delivered, /\/resend$/);
  await shown(sent.url, /2 attempts/);
  expect(receiver.received.length).toBe(before + 1);
  expect(receiver.received.at(-1)?.body).toBe(receiver.received.at(-2)?.body);
  expect((await community.open(`${path}?state=Delivered`)).text).toContain('>Test</a>');
  expect((await community.open(`${path}?state=Failed`)).text).toContain('No failed deliveries');

  const rotated = await community.send(await community.open(path), `${path}/rotate`);
  expect(secretIn(rotated)).toMatch(/^whsec_/);
  expect(secretIn(rotated)).not.toBe(secretIn(made));

  const disabled = await community.send(await community.open(path), `${path}/disable`);
  expect(disabled.text).toContain('Disabled in the console.');
  expect(disabled.text).not.toContain('Send test delivery');
  await community.send(disabled, `${path}/enable`);
  const recovered = await community.send(await community.open(path), `${path}/recover`, { since: '2026-01-01T00:00' });
  expect(recovered.flash).toMatch(
    /^Nothing has been missed since then\. Recovery goes back 30 days: events before .* were left out\.$/,
  );
  expect((await community.send(await community.open(path), `${path}/recover`, { since: 'soon' })).status).toBe(422);

  const sentPath = sent.url.pathname;
  for (const foreign of [path, sentPath]) expect((await other.open(foreign)).status).toBe(404);
  expect((await community.open(`${path}/deliveries/nothing:here`)).status).toBe(404);

  await community.send(await community.open(path), `${path}/remove`);
  expect((await community.open(path)).status).toBe(404);
});

test('the page of a failed delivery shows the reason', async () => {
  receiver.answer = answering(500);
  const form = await community.open('/console/webhooks');
  const made = await community.send(form, '/console/webhooks', { url: receiver.url, event: ['BookingRequested'] });
  const path = /href="(\/console\/webhooks\/wh_[\w-]+)"/.exec(made.text)?.[1] ?? '';
  const sent = await community.send(await community.open(path), `${path}/test`);
  await shown(sent.url, /Response 500/);
  receiver.answer = answering(200);
});

test('shows since when a failing endpoint is paused and when it is tried next, and a test delivery ends the pause', async () => {
  receiver.answer = answering(500);
  const form = await community.open('/console/webhooks');
  const made = await community.send(form, '/console/webhooks', { url: receiver.url, event: ['BookingRequested'] });
  const path = /href="(\/console\/webhooks\/wh_[\w-]+)"/.exec(made.text)?.[1] ?? '';
  const { bookings } = running.service.core.commands;
  for (let i = 0; i < 5; i++) {
    const details = { spaceId: spaceId(1), date: inDays(40 + i), startHour: 12 };
    const context = { actor: OPERATOR, correlationId: 'test' };
    expect(isRefusal(await bookings.request({ brandId: brandId(1), details }, context))).toBe(false);
  }
  const paused = await shown(path, /Paused since/);
  expect(paused.text).toMatch(/after 5 failed attempts in a row/);
  expect(paused.text).toMatch(/the next attempt (?:is due [^<]*<time|is made as soon as)/);
  expect((await community.open('/console/webhooks')).text).toContain('Paused');
  receiver.answer = answering(200);
  await community.send(await community.open(path), `${path}/test`);
  await eventually(async () => expect((await community.open(path)).text).not.toContain('Paused since'));
});

test('a confidential client gets tokens until it is removed', async () => {
  const form = await community.open('/console/clients');
  expect((await community.send(form, '/console/clients', { name: '' })).status).toBe(422);
  const made = await community.send(form, '/console/clients', { name: 'Nightly <export>' });
  const id = /The client ID is <code>([^<]+)<\/code>/.exec(made.text)?.[1] ?? '';
  expect(made.text).toContain('Nightly &lt;export&gt;');
  const token = () =>
    fetch(`${running.url}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${id}:${secretIn(made)}`).toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'api', scope: 'service.api.read' }),
    });
  const granted = await token();
  expect(granted.status).toBe(200);
  const { access_token: access } = (await granted.json()) as { access_token: string };
  expect(await api(access)).toBe(200);

  const list = await community.open('/console/clients');
  expect(list.text).not.toContain(secretIn(made));
  await community.send(list, `/console/clients/${id}/remove`);
  expect(await api(access)).toBe(401);
  expect((await token()).status).toBe(401);
});

test('with no connected apps, the page explains how to connect one', async () => {
  const page = await community.open('/console/apps');
  expect(page.text).toContain('No connected apps');
  expect(page.text).toContain(`claude mcp add --transport http venue-booking ${running.url}/mcp`);
  const { csrf } = page;
  const body = new URLSearchParams({ csrf });
  expect((await community.request('/console/apps/nothing/disconnect', { method: 'POST', body })).status).toBe(404);
});

test('lists a connected app with its permissions, and disconnecting it revokes access immediately', async () => {
  const registered = await fetch(`${running.url}/connect/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Planner <b>',
      redirect_uris: [receiver.url],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id: client } = (await registered.json()) as { client_id: string };
  const verifier = 'v'.repeat(64);
  const asked = new URLSearchParams({
    client_id: client,
    redirect_uri: receiver.url,
    response_type: 'code',
    scope: 'openid service.api.read',
    resource: 'api',
    state: 'abc',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  async function allow(browser: Browser): Promise<string> {
    const consent = await browser.open(`/connect/authorize?${asked}`);
    const answered = await browser.send(consent, /consent$/);
    const code = answered.url.searchParams.get('code') ?? '';
    const exchanged = await fetch(`${running.url}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        client_id: client,
        redirect_uri: receiver.url,
        code_verifier: verifier,
        resource: 'api',
      }),
    });
    return ((await exchanged.json()) as { access_token: string }).access_token;
  }
  // Allowed in two browsers, it is one app.
  const second = new Browser(running.url);
  await second.signIn(running.demo.communities[0].user);
  const tokens = [await allow(community), await allow(second)];
  for (const token of tokens) expect(await api(token)).toBe(200);

  const page = await community.open('/console/apps');
  expect(page.text.match(/Planner &lt;b&gt;<\/bdi><\/h2>/g)).toHaveLength(1);
  expect(page.text.match(/Connected by/g)).toHaveLength(2);
  expect(page.text).toContain(`${running.url}/mcp`);
  expect(page.text).toContain('Planner &lt;b&gt;');
  expect(page.text).toContain('Read availability, bookings and reviews');
  expect(page.text).toContain('Connected by <bdi>harbour@demo.example</bdi>');
  expect((await other.open('/console/apps')).text).toContain('No connected apps');
  const disconnected = await community.send(page, /\/disconnect$/);
  expect(disconnected.flash).toContain('App disconnected.');
  for (const token of tokens) expect(await api(token)).toBe(401);
});

test('a space can be added, changed, closed and reopened, with errors beside each field', async () => {
  const form = await community.open('/console/spaces/new');
  expect(form.text).toMatch(new RegExp(`name="answerHours"[^>]* value="${DEFAULT_ANSWER_HOURS}"`));
  const typed = {
    name: 'Attic <i>',
    windowStart: '20',
    windowEnd: '10',
    durationHours: '2.5',
    eventFee: '99,90',
    answerHours: '24',
  };
  const wrong = await community.send(form, '/console/spaces/new', typed);
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('“Opens at” must be before “Closes at”.');
  expect(wrong.text).toContain('id="windowStart-error"');
  expect(wrong.text).toContain('value="99,90"');

  const [one, two] = await Promise.all([
    community.send(form, '/console/spaces/new', { ...typed, windowStart: '8' }),
    community.send(form, '/console/spaces/new', { ...typed, windowStart: '8' }),
  ]);
  expect(one.status).toBe(200);
  expect(two.status).toBe(200);
  const list = await community.open('/console/spaces');
  expect(list.text.match(/Attic &lt;i&gt;<\/bdi><\/a>/g)).toHaveLength(1);
  expect(list.text).toContain('$99.90');

  const id = /\/console\/spaces\/(\d+)"><bdi>Attic/.exec(list.text)?.[1] ?? '';
  const fee = await community.send(await community.open(`/console/spaces/${id}`), `/console/spaces/${id}`, {
    eventFee: '1.234',
  });
  expect(fee.text).toContain('id="eventFee-error"');
  await community.send(await community.open(`/console/spaces/${id}`), `/console/spaces/${id}`, { eventFee: '120' });
  const closed = await community.send(await community.open('/console/spaces'), `/console/spaces/${id}/close`);
  expect(closed.flash).toContain('Space closed.');
  const space = await running.service.core.queries.spaces.get({ kind: 'Community', id: communityId(1) }, Number(id));
  expect(space).toMatchObject({ eventFee: 120_00, active: false, windowStart: 8 });
  expect((await community.send(closed, `/console/spaces/${id}/open`)).flash).toContain('Space reopened.');
  expect(isRefusal(space)).toBe(false);
});

test('the month and day views use the time zone of the community', async () => {
  const month = await community.open('/console/calendar');
  expect(month.text).toContain('Berlin time');
  const day = /href="(\/console\/calendar\/\d{4}-\d\d-\d\d)"><span class="visually-hidden">[^<]*, <\/span>/.exec(
    month.text,
  )?.[1];
  expect((await community.open(day ?? '')).text).toMatch(/colspan="\d+" class="held is-/);
  for (const path of ['/console/calendar/2026-02-30', '/console/calendar/nothing'])
    expect((await community.open(path)).status).toBe(404);
  expect((await community.open('/console/calendar?month=2026-99')).status).toBe(422);
});

test('a sheet at the door of a space is added among the feeds, and ends like one', async () => {
  const wanted = { as: 'door', shows: 'busy' };
  const form = await community.open('/console/feeds');
  const refused = await community.send(form, '/console/feeds', { ...wanted, space: 'all' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('one space');
  const address = secretIn(await community.send(form, '/console/feeds', { ...wanted, space: '1' }));
  expect(address).toMatch(/\/door\/vbs_feed_\w{38}$/);
  const sheet = () => fetch(address.replace(/^https?:\/\/[^/]+/, running.url));
  expect((await sheet()).status).toBe(200);
  const list = await community.open('/console/feeds');
  expect(list.text).toContain('Busy only, at the door');
  const [action = ''] = /\/console\/feeds\/[^"]+\/revoke/.exec(list.text) ?? [];
  await community.send(list, action, {});
  await eventually(async () => expect((await sheet()).status).toBe(404));
});

test('a calendar feed is added in the console, shows its address once, serves the calendar and ends when it is revoked', async () => {
  const northwind = new Browser(running.url);
  await northwind.signIn(running.demo.brands[1].user);
  expect((await northwind.open('/console/feeds')).text).toContain('No calendar feeds yet');
  const feedOf = (url: string) => fetch(url.replace(/^https?:\/\/[^/]+/, running.url));
  for (const [browser, form] of [
    [northwind, { shows: 'names' }],
    [community, { shows: 'busy', space: '1' }],
  ] as const) {
    const made = await browser.send(await browser.open('/console/feeds'), '/console/feeds', form);
    const address = secretIn(made);
    expect(address).toMatch(/\/calendar\/vbs_feed_\w{38}\.ics$/);
    const calendar = await feedOf(address);
    expect(calendar.status).toBe(200);
    expect(await calendar.text()).toContain('BEGIN:VEVENT');

    const list = await browser.open('/console/feeds');
    expect(list.text).not.toContain(address);
    const [action = ''] = /\/console\/feeds\/[^"]+\/revoke/.exec(list.text) ?? [];
    expect((await browser.send(list, action, {})).text).toContain('Calendar feed revoked');
    await eventually(async () => expect((await feedOf(address)).status).toBe(404));
    expect((await browser.open('/console/history?topic=feeds')).text).toContain('was ended');
  }
  const list = await community.open('/console/feeds');
  for (const space of ['x', '99999', String(running.demo.communities[1].spaces[0]?.id)])
    expect((await community.send(list, '/console/feeds', { shows: 'busy', space })).text).toContain(
      'Choose one of your spaces.',
    );
});
