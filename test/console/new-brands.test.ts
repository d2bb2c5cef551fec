import { afterAll, beforeAll, expect, test } from 'vitest';
import { communityId } from '../../src/domain/ids.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

const PASSWORD = 'correct horse battery';
const NEW_BRANDS = '/console/spaces/new-brands';

let running: Running;
let manager: Browser;
let day = 60;

beforeAll(async () => {
  running = await startDemo({ CONSOLE_WRITES_PER_MINUTE: '1000' });
  manager = new Browser(running.url);
  await manager.signIn(running.demo.communities[0].user);
  await manager.send(await manager.open(NEW_BRANDS), NEW_BRANDS, { newBrands: 'wait' });
});
afterAll(() => running.stop());

const core = () => running.service.core;
const house = () => communityId(running.demo.communities[0].id);
const spaceId = () => running.demo.communities[0].spaces[0].id;

/** A brand that the community does not know, with a key. */
async function newBrand(name: string) {
  const { brandId } = accepted(await core().commands.catalogue.addBrand({ name }, CONTEXT));
  const account = { kind: 'Brand', id: brandId } as const;
  const wanted = { account, permissions: ALL_PERMISSIONS, label: 'Test' };
  const { key } = accepted(await core().commands.apiKeys.issue(wanted, CONTEXT));
  const request = async (headers: Readonly<Record<string, string>> = {}, date = inDays(day++)) => {
    const answer = await fetch(`${running.url}/api/v1/bookings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ spaceId: spaceId(), startTime: date, startHour: 12 }),
    });
    return { ...Object(await answer.json()), code: answer.status };
  };
  const statusOf = async (id: number) => (await core().queries.operator.booking(id))?.status;
  return { brandId, request, statusOf };
}
const approve = (bookingId: number) => core().commands.bookings.approve({ bookingId, communityId: house() }, CONTEXT);

test('a request of a new brand waits until a Manager lets the brand in, and then all of its requests are like others', async () => {
  const { brandId, request, statusOf } = await newBrand('Fern & Co');
  const [first, second] = [await request(), await request()];
  expect([first.code, second.code]).toEqual([201, 201]);
  const inbox = await manager.open('/console/inbox?sort=date');
  const row = new RegExp(`id="request-${first.id}".*?</article>`, 's').exec(inbox.text)?.[0] ?? '';
  expect(row).toContain('New brand');
  expect(row).toContain('Let them in');
  expect(row).not.toContain(`/console/bookings/${first.id}/approve`);
  expect((await manager.open(`/console/bookings/${first.id}`)).text).toContain('Let them in');

  // By no face.
  const refused = { refused: 'BookingNotAllowed', details: expect.stringContaining('new to the community') };
  expect(await approve(first.id)).toMatchObject(refused);
  useDataDir(core().config.dataDir);
  expect(await inProcess('booking', 'approve', String(first.id))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('A Manager lets it in first'),
  });
  const { csrf } = inbox;
  for (const [path, fields] of [
    [`/console/bookings/${first.id}/approve`, {}],
    ['/console/inbox/approve', { id: String(first.id), list: '' }],
  ] as const) {
    const body = new URLSearchParams({ csrf, ...fields });
    const sent = await manager.request(path, { method: 'POST', body });
    expect((await manager.open(sent.location ?? '')).flash).toContain('A Manager lets it in first');
  }
  expect(await statusOf(first.id)).toBe('Pending');

  const back = await manager.send(inbox, `/console/brands/${brandId}/let-in`);
  expect([back.url.pathname, back.flash]).toEqual([
    '/console/inbox',
    '<bdi>Fern &amp; Co</bdi> is let in. You can approve its requests.',
  ]);
  expect(accepted(await approve(first.id))).toBeDefined();
  expect(accepted(await approve(second.id))).toBeDefined();
  expect((await manager.open('/console/history')).text).toMatch(/Fern &amp; Co<\/bdi>” was let in/);
  // It cannot be turned away any more.
  const late = await manager.open(`/console/brands/${brandId}/turn-away`);
  expect((await manager.send(late, '/turn-away')).flash).toContain('let in already');
});

test('a Manager declines one request of a new brand, and turning away again declines what is left', async () => {
  const { brandId, request, statusOf } = await newBrand('Two halls');
  const [first, second, third] = [await request(), await request(), await request()];
  const row = (text: string, id: number) => new RegExp(`id="request-${id}".*?</article>`, 's').exec(text)?.[0] ?? '';
  const inbox = await manager.open('/console/inbox?sort=date');
  for (const shown of ['Let them in', 'Decline…', 'Turn this brand away…'])
    expect(row(inbox.text, first.id)).toContain(shown);
  await manager.send(inbox, `/console/bookings/${first.id}/decline`, { reason: 'Not that day' });
  expect([await statusOf(first.id), await statusOf(second.id)]).toEqual(['Cancelled', 'Pending']);
  // A process died after the decision, before it declined the others.
  const data = { communityId: house(), brandId };
  const actor = { kind: 'operator', id: 'test' };
  const metadata = { at: new Date().toISOString(), actor, correlationId: 'c', schema: 1 };
  const stream = `venue_admission-${house()}-${brandId}`;
  await core().events.append(stream, [{ type: 'BrandTurnedAway', data, metadata }], { expectedRevision: 'none' });
  const left = await eventually(async () => {
    const page = await manager.open('/console/inbox?sort=date');
    expect(row(page.text, second.id)).toContain('Turned away');
    return page;
  });
  expect(row(left.text, second.id)).toContain('Decline all of its requests…');
  const question = await manager.open(`/console/brands/${brandId}/turn-away?booking=${second.id}&list=sort%3Ddate`);
  expect((await manager.send(question, '/turn-away')).flash).toContain('2 requests declined');
  expect([await statusOf(second.id), await statusOf(third.id)]).toEqual(['Cancelled', 'Cancelled']);
  accepted(await core().commands.admissions.admit({ communityId: house(), brandId }, CONTEXT));
});

test('a Manager turns away a brand that has only asked, on the page of its question, and lets it in again', async () => {
  const { brandId, request } = await newBrand('Only asking');
  const account = { kind: 'Brand', id: brandId } as const;
  const about = { account, spaceId: spaceId(), brandId };
  const ask = (text: string) => core().commands.questions.send({ ...about, text }, CONTEXT);
  // A brand that has sent nothing is none that can be turned away.
  expect((await manager.open(`/console/brands/${brandId}/turn-away`)).status).toBe(404);
  accepted(await ask('Buy now!'));
  const path = `/console/questions/${spaceId()}-${brandId}`;
  const thread = await manager.open(path);
  expect(thread.text).toContain('Turn this brand away…');
  const away = /href="([^"]+turn-away[^"]*)"/.exec(thread.text)?.[1] ?? '';
  const elsewhere = new Browser(running.url);
  await elsewhere.signIn(running.demo.communities[1].user);
  expect((await elsewhere.open(away)).status).toBe(404);
  const done = await manager.send(await manager.open(away), '/turn-away');
  expect([done.url.pathname, done.flash]).toEqual([path, '<bdi>Only asking</bdi> is turned away.']);
  expect(await ask('Again!')).toMatchObject({ refused: 'BookingNotAllowed' });
  expect(await request()).toMatchObject({ code: 422, error: 'BookingNotAllowed' });
  const back = await manager.send(done, '/let-in');
  expect([back.url.pathname, back.flash]).toEqual([path, expect.stringContaining('is let in')]);
  accepted(await ask('Sorry.'));
  // A Coordinator reads that it is new, and decides nothing.
  const user = { email: 'desk@harbour.example', password: PASSWORD };
  const harbour = { kind: 'Community', id: house() } as const;
  accepted(await core().users.add({ ...user, accounts: [harbour], role: 'Coordinator' }, CONTEXT));
  const desk = new Browser(running.url);
  await desk.signIn(user);
  expect((await desk.open(path)).text).not.toMatch(/turn-away|let-in/);
});

test('selecting all leaves out the requests that cannot be approved, and says how many', async () => {
  const { brandId, request, statusOf } = await newBrand('Left out');
  const regular = await newBrand('Known here');
  accepted(await core().commands.admissions.admit({ communityId: house(), brandId: regular.brandId }, CONTEXT));
  const [out, alsoOut, into] = [await request(), await request(), await regular.request()];
  const list = `/console/inbox?sort=date&from=${out.date}`;
  expect((await manager.open(list)).text).toContain('2 requests of brands that are not let in are left out.');
  const { csrf } = await manager.open(list);
  const sent = await manager.request('/console/inbox/approve', {
    method: 'POST',
    body: new URLSearchParams({ csrf, all: 'yes', list: `sort=date&from=${out.date}` }),
  });
  expect(sent.text).toContain('2 requests of brands that are not let in are left out.');
  expect(sent.text).toContain('Known here');
  expect(sent.text).not.toContain('Left out');
  const done = await manager.send(sent, '/console/inbox/approve');
  expect(done.flash).toContain('approved');
  expect([await statusOf(out.id), await statusOf(alsoOut.id), await statusOf(into.id)]).toEqual([
    'Pending',
    'Pending',
    'Approved',
  ]);
  expect(await core().commands.admissions.turnAway({ communityId: house(), brandId }, CONTEXT)).toEqual({
    cancelled: 2,
  });
  accepted(await core().commands.admissions.admit({ communityId: house(), brandId }, CONTEXT));
});

test('a brand is told that a house looks at new brands first', async () => {
  const { brandId, request } = await newBrand('Told');
  const user = { email: 'told@example.com', password: PASSWORD };
  const accounts = [{ kind: 'Brand', id: brandId }] as const;
  accepted(await core().users.add({ ...user, accounts }, BY_OPERATOR));
  const browser = new Browser(running.url);
  await browser.signIn(user);
  const { id } = await request();
  const pages = [`/console/find/${spaceId()}`, `/console/bookings/${id}`];
  const says = async () =>
    Promise.all(pages.map(async (page) => (await browser.open(page)).text.includes('looks at brands that are new')));
  expect(await says()).toEqual([true, true]);
  const stranger = await new Browser(running.url).open(`/sign-up?space=${spaceId()}`);
  expect(stranger.text).toContain('looks at brands that are new');
  accepted(await core().commands.admissions.admit({ communityId: house(), brandId }, CONTEXT));
  expect(await says()).toEqual([false, false]);
});

test('a brand that is turned away loses its requests, and sends no others until it is let in', async () => {
  const { brandId, request, statusOf } = await newBrand('Nuisance');
  const headers = { 'idempotency-key': 'once' };
  const date = inDays(day++);
  const asked = [await request(headers, date), await request(), await request()];
  const question = await manager.open(`/console/brands/${brandId}/turn-away?booking=${asked[0]?.id}&list=sort%3Ddate`);
  expect(question.text).toContain('Turn <bdi>Nuisance</bdi> away?');
  const done = await manager.send(question, '/turn-away');
  expect([done.url.pathname + done.url.search, done.flash]).toEqual([
    '/console/inbox?sort=date',
    '<bdi>Nuisance</bdi> is turned away. 3 requests declined.',
  ]);
  for (const { id } of asked) expect(await statusOf(id)).toBe('Cancelled');
  expect(await request()).toMatchObject({
    code: 422,
    error: 'BookingNotAllowed',
    details: 'The community does not take requests of this brand.',
  });
  // The same request is still answered with its booking.
  expect(await request(headers, date)).toMatchObject({ code: 201, id: asked[0]?.id });
  // A key whose request was refused is free for it later.
  expect((await request({ 'idempotency-key': 'later' })).code).toBe(422);

  const settings = await manager.open(NEW_BRANDS);
  expect(settings.text).toContain('Turned away');
  const back = await manager.send(settings, `/console/brands/${brandId}/let-in`);
  expect([back.url.pathname, back.text.includes('Turned away')]).toEqual([NEW_BRANDS, false]);
  expect((await request({ 'idempotency-key': 'later' })).code).toBe(201);
});

test('a brand with an approved booking is let in, and where nothing is asked, all are', async () => {
  const { request } = await newBrand('Regular');
  await manager.send(await manager.open(NEW_BRANDS), NEW_BRANDS, { newBrands: 'askNothing' });
  const { id } = await request();
  const rowOf = async (of: number) =>
    new RegExp(`id="request-${of}".*?</article>`, 's').exec((await manager.open('/console/inbox?sort=date')).text)?.[0];
  // Its first request here is marked, and can be approved.
  const row = await rowOf(id);
  for (const shown of ['New brand', `/console/bookings/${id}/approve`]) expect(row).toContain(shown);
  accepted(await approve(id));
  const next = await request();
  expect(await rowOf(next.id)).not.toContain('New brand');
  const changed = await manager.send(await manager.open(NEW_BRANDS), NEW_BRANDS, { newBrands: 'wait' });
  expect([changed.flash, (await manager.send(changed, NEW_BRANDS)).flash]).toEqual(['Saved.', 'Nothing has changed.']);
  accepted(await approve((await request()).id));
  expect((await manager.open('/console/history')).text).toMatch(/Requests of new brands.*wait/s);
});

test('a Coordinator sees that the brand is new, declines its request, and decides nothing about the brand', async () => {
  const { brandId, request, statusOf } = await newBrand('Quiet');
  const { id } = await request();
  const user = { email: 'coordinator@example.com', password: PASSWORD };
  const accounts = [{ kind: 'Community', id: house() }] as const;
  accepted(await core().users.add({ ...user, accounts, role: 'Coordinator' }, BY_OPERATOR));
  const coordinator = new Browser(running.url);
  await coordinator.signIn(user);
  const inbox = await coordinator.open('/console/inbox?sort=date');
  const row = new RegExp(`id="request-${id}".*?</article>`, 's').exec(inbox.text)?.[0] ?? '';
  expect(row).toContain('A Manager decides first');
  expect(row).not.toContain('Let them in');
  const { csrf } = inbox;
  for (const step of ['let-in', 'turn-away']) {
    const sent = { method: 'POST', body: new URLSearchParams({ csrf }) } as const;
    expect((await coordinator.request(`/console/brands/${brandId}/${step}`, sent)).status).toBe(403);
  }
  await coordinator.send(inbox, `/console/bookings/${id}/decline`, { reason: 'Not this one' });
  expect(await statusOf(id)).toBe('Cancelled');
});

test('brands that have never asked are not known to a community, nor those that ask others', async () => {
  const { brandId } = await newBrand('Elsewhere');
  for (const id of [String(brandId), '99999', 'x', '0'])
    expect((await manager.open(`/console/brands/${id}/turn-away`)).status).toBe(404);
  const { csrf } = await manager.open('/console');
  const body = new URLSearchParams({ csrf });
  expect((await manager.request(`/console/brands/${brandId}/let-in`, { method: 'POST', body })).status).toBe(404);
});

test('two Managers who decide at once do not undo each other, and turning away again finishes', async () => {
  const { brandId, request, statusOf } = await newBrand('Contested');
  const { id } = await request();
  const { admissions } = core().commands;
  const of = { communityId: house(), brandId };
  const both = await Promise.all([admissions.admit(of, CONTEXT), admissions.turnAway(of, CONTEXT)]);
  const isTurnedAway = 'cancelled' in both[1];
  expect(await statusOf(id)).toBe(isTurnedAway ? 'Cancelled' : 'Pending');
  const other = await newBrand('Died between');
  const left = await other.request();
  const stream = `venue_admission-${house()}-${other.brandId}`;
  const metadata = {
    at: new Date().toISOString(),
    actor: { kind: 'operator', id: 'test' },
    correlationId: 'c',
    schema: 1,
  };
  const data = { communityId: house(), brandId: other.brandId };
  await core().events.append(stream, [{ type: 'BrandTurnedAway', data, metadata }], { expectedRevision: 'none' });
  expect(await admissions.turnAway({ communityId: house(), brandId: other.brandId }, CONTEXT)).toEqual({
    cancelled: 1,
  });
  expect(await other.statusOf(left.id)).toBe('Cancelled');
});

test('an operator does the same on the command line', async () => {
  const { brandId, request } = await newBrand('By command');
  const { id } = await request();
  useDataDir(core().config.dataDir);
  const own = [String(house())];
  expect(await json('community', 'new-brands', ...own, 'wait')).toMatchObject({ id: house(), newBrands: 'wait' });
  expect(await json('community', 'turn-away', ...own, '--brand', String(brandId))).toEqual({
    community: house(),
    brand: brandId,
    cancelled: 1,
  });
  expect((await core().queries.operator.booking(id))?.cancelledBy).toBe('Community');
  expect(await json('community', 'let-in', ...own, '--brand', String(brandId))).toEqual({
    community: house(),
    brand: brandId,
  });
  for (const [args, code, text] of [
    [['new-brands', '99', 'wait'], 1, 'There is no community 99.'],
    [['new-brands', ...own, 'maybe'], 2, 'wait, ask-nothing'],
    [['let-in', '99', '--brand', '1'], 1, 'There is no community 99.'],
    [['turn-away', ...own, '--brand', '99999'], 1, 'There is no brand 99999.'],
    [['turn-away', ...own, '--brand', String(brandId)], 1, 'let in already'],
  ] as const)
    expect(await inProcess('community', ...args)).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringContaining(text),
    });
});
