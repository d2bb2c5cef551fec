import { afterAll, beforeAll, expect, test } from 'vitest';
import { OPERATOR } from '../../src/domain/account.ts';
import { brandId, communityId, spaceId, timestamp } from '../../src/domain/ids.ts';
import { type DeliveryDocument, deliveryCollection } from '../../src/webhooks/delivery.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { answering, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { type Running, startDemo } from './console.fixture.ts';

const CONTEXT = { actor: OPERATOR, correlationId: 'test' };
const HARBOUR = { kind: 'Community', id: communityId(1) } as const;

let running: Running;
let community: Browser;
let other: Browser;
let receiver: Receiver;

beforeAll(async () => {
  running = await startDemo();
  const [harbour, union] = running.demo.communities;
  community = new Browser(running.url);
  other = new Browser(running.url);
  await Promise.all([community.signIn(harbour.user), other.signIn(union.user)]);
  receiver = await startReceiver();
});
afterAll(async () => {
  await running.stop();
  await receiver.close();
});

async function registered(
  events = 15,
  account: { kind: 'Community'; id: typeof HARBOUR.id } = HARBOUR,
): Promise<string> {
  const owner = { account, credential: 'user:test' } as const;
  const { core } = running.service;
  return accepted(await core.commands.webhooks.register({ owner, url: receiver.url, events }, CONTEXT)).webhookId;
}

let days = 60;
async function booked(message?: string): Promise<number> {
  days += 1;
  const details = { spaceId: spaceId(1), date: inDays(days), startHour: 10, ...(message && { message }) };
  const { bookings } = running.service.core.commands;
  return accepted(await bookings.request({ brandId: brandId(1), details }, CONTEXT)).bookingId;
}

const records = () => running.service.core.documents.open(deliveryCollection);

/** Stores a changed copy of a delivery, to reach a state that would take hours of failures. */
async function stored(like: DeliveryDocument, changes: Partial<DeliveryDocument>): Promise<DeliveryDocument> {
  const changed = { ...like, ...changes };
  const documents = await records();
  const deliveryId = `${changed.eventId}:${changed.webhookId}`;
  await documents.delete(deliveryId);
  await documents.insert(deliveryId, { ...changed, deliveryId });
  return { ...changed, deliveryId };
}

/** The delivery of an event of a kind for a webhook, once it has arrived. */
const arrived = (webhookId: string, event: string) =>
  eventually(async () => {
    const found = await running.service.core.webhooks.listDeliveries({ webhookId, state: 'Delivered' });
    const one = found.find((delivery) => delivery.event === event);
    if (one === undefined) throw new Error(`No ${event} has arrived`);
    return one;
  });

/** The rows of the table of deliveries: event, booking and outcome. */
const rowsOf = ({ text }: Page): string[] =>
  [...text.matchAll(/<tr><th scope="row">(.*?)<\/tr>/gs)].map(([, row = '']) =>
    row
      .replace(/<time.*?<\/time>/gs, '')
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );

const search = (query: Readonly<Record<string, string>>, path = '/console/webhooks/deliveries') =>
  community.open(`${path}?${new URLSearchParams(query)}`);

test('finds deliveries by booking number, in all webhooks of the account or in one', async () => {
  const [one, two] = [await registered(), await registered(2)];
  const bookingId = await booked('For forty guests');
  const { bookings } = running.service.core.commands;
  accepted(await bookings.approve({ bookingId, communityId: HARBOUR.id }, CONTEXT));
  await booked();
  await Promise.all([arrived(one, 'BookingApproved'), arrived(two, 'BookingApproved')]);

  const list = await community.open('/console/webhooks');
  expect(list.text).toMatch(/<form[^>]* action="\/console\/webhooks\/deliveries" role="search"/);
  const shown = rowsOf(await search({ q: `#${bookingId}` }));
  expect(shown).toHaveLength(3);
  expect(shown.filter((row) => row.startsWith(`BookingApproved Booking ${bookingId} `))).toHaveLength(2);
  expect(rowsOf(await search({ q: String(bookingId) }, `/console/webhooks/${two}`))).toHaveLength(1);
  expect(rowsOf(await search({ q: String(bookingId), webhook: one }))).toHaveLength(2);
  expect(rowsOf(await search({ q: String(bookingId), event: 'BookingRequested' }))).toHaveLength(1);
  const narrowed = await search({ q: String(bookingId), state: 'Failed' });
  expect(rowsOf(narrowed)).toEqual([]);
  expect(narrowed.text).toContain('Choose “All” as event and outcome');
  expect(narrowed.text).not.toContain('has no such booking');

  await registered(15, { kind: 'Community', id: communityId(2) });
  const asked = async (q: number) => {
    const page = await other.open(`/console/webhooks/deliveries?q=${q}`);
    return {
      status: page.status,
      said: /<div class="empty">.*?<\/div>/s.exec(page.text)?.[0]?.replace(String(q), 'N'),
    };
  };
  expect(await asked(bookingId)).toEqual(await asked(987_654));
});

test('finds a delivery by its webhook-id and by its event id', async () => {
  const webhookId = await registered(1);
  await booked();
  const { deliveryId, eventId } = await arrived(webhookId, 'BookingRequested');
  for (const q of [deliveryId, eventId.toUpperCase()]) {
    const found = await search({ q, webhook: webhookId });
    expect(rowsOf(found), q).toHaveLength(1);
    expect(found.text).toContain(encodeURIComponent(deliveryId));
  }
  expect((await other.open(`/console/webhooks/deliveries?q=${deliveryId}`)).text).toContain('No deliveries with this');
});

test('filters deliveries by event and outcome, and links to every page of them', async () => {
  const webhookId = await registered();
  await booked();
  const like = await arrived(webhookId, 'BookingRequested');
  for (let i = 0; i < 60; i++) {
    const createdAt = timestamp(new Date(Date.now() - 60_000 - (i >> 3)).toISOString());
    const state = i % 2 === 0 ? 'Failed' : 'Delivered';
    const event = i % 4 === 0 ? 'BookingCancelled' : 'BookingApproved';
    await stored(like, {
      eventId: `${String(i).padStart(8, '0')}-aaaa-4bbb-8ccc-0123456789ab`,
      state,
      event,
      createdAt,
    });
  }
  const path = `/console/webhooks/${webhookId}`;
  const seen = new Set<string>();
  let page = await search({ state: 'Failed' }, path);
  for (;;) {
    for (const [, href = ''] of page.text.matchAll(/<th scope="row"><a class="whole" href="([^"]+)"/g)) seen.add(href);
    const older = /href="([^"]*before=[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
    if (older === undefined) break;
    expect(older).toContain('state=Failed');
    page = await community.open(older);
  }
  expect(seen.size).toBe(30);
  const both = await search({ state: 'Failed', event: 'BookingCancelled', webhook: webhookId });
  expect(rowsOf(both)).toHaveLength(15);
  expect(both.text).toMatch(/<option value="BookingCancelled" selected>/);
  expect(both.text).toMatch(/<option value="Failed" selected>/);
  expect((await search({ state: 'Failed', event: 'Test' }, path)).text).toContain('No failed deliveries of Test');
  for (const beyond of [
    { before: '2000-01-01T00:00:00.000Z', id: 'x' },
    { q: '1', skip: '9999' },
  ]) {
    const { text } = await search(beyond, path);
    expect(text).toContain('There is nothing further back.');
    expect(text).not.toContain('Send a test delivery to check');
  }
});

test('a filter by another account’s webhook is reported instead of ignored', async () => {
  await registered(1);
  await registered(1);
  for (const webhook of ['x', 'wh_000000000000000000000000']) {
    const page = await search({ webhook });
    expect(page.status, webhook).toBe(422);
    expect(page.text).toMatch(/id="webhook-error".*?There is no such webhook any more\./s);
    expect(rowsOf(page)).toEqual([]);
  }
});

test.each(['%', "1' or 1=1", 'x'.repeat(300), '٣', '-1', '12345678901234567890'])(
  'an unsupported search term is kept, with a list of what can be searched for: %s',
  async (q) => {
    const page = await search({ q });
    expect(page.status).toBe(422);
    expect(page.text).toContain('Enter the number of a booking');
    expect(page.text).toContain(`value="${q.slice(0, 200).replaceAll("'", '&#39;')}"`);
    expect(rowsOf(page)).toEqual([]);
  },
);

test('an event missed while a webhook was disabled is shown as not sent, and can be sent from its row', async () => {
  const webhookId = await registered();
  const { webhooks } = running.service.core.commands;
  accepted(await webhooks.disable({ webhookId, reason: 'test' }, CONTEXT));
  const bookingId = await booked('Bring a cake');
  const disabled = await search({ q: String(bookingId), webhook: webhookId });
  expect(rowsOf(disabled)).toEqual([
    `BookingRequested Booking ${bookingId} ${receiver.url.replace('&', '&amp;')} Not sent never sent`,
  ]);
  const href =
    /<th scope="row"><a class="whole" href="([^"]+)"/.exec(disabled.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect((await community.open(href)).text).toContain('The webhook is disabled.');
  expect((await other.open(href)).status).toBe(404);
  expect((await community.open(href.replace(/booking=\d+/, 'booking=1'))).status).toBe(404);

  accepted(await webhooks.enable({ webhookId }, CONTEXT));
  const before = receiver.received.length;
  const page = await eventually(async () => {
    const found = await community.open(href);
    expect(found.text).toContain('Send</button>');
    return found;
  });
  expect(page.text).toContain('No delivery was made of this event');
  const sent = await eventually(async () => {
    const answer = await community.send(await community.open(href), /\/resend$/);
    expect(answer.flash).toBe('');
    return answer;
  });
  await receiver.until(before + 1);
  expect(JSON.parse(receiver.received.at(-1)?.body ?? '')).toMatchObject({
    data: { bookingId, message: 'Bring a cake' },
  });
  await eventually(async () => expect((await community.open(sent.url)).text).toContain('Response 200'));
});

test('the page of a delivery shows times to the second and the headers that were sent', async () => {
  receiver.answer = answering(200, {}, 'thanks');
  const webhookId = await registered(1);
  await booked();
  const { deliveryId, attempts, eventAt } = await arrived(webhookId, 'BookingRequested');
  const got = receiver.received.find(({ headers }) => headers['webhook-id'] === deliveryId);
  const page = await community.open(`/console/webhooks/${webhookId}/deliveries/${encodeURIComponent(deliveryId)}`);
  for (const moment of [eventAt, attempts[0]?.at ?? ''])
    expect(page.text).toMatch(
      new RegExp(`<time datetime="${moment}">[^<]*:${moment.slice(14, 19)} <span[^>]*>Berlin time`),
    );
  const headers = [...page.text.matchAll(/<dt><code>([^<]+)<\/code><\/dt><dd><code[^>]*>([^<]+)<\/code><\/dd>/g)];
  expect(Object.fromEntries(headers.map(([, name, value]) => [name, value]))).toEqual(got?.headers);
  expect(JSON.stringify(headers)).not.toContain('whsec_');
});

test('the page of a delivery shows its state once and no outdated message', async () => {
  const webhookId = await registered(8);
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  receiver.answer = async (_, response) => {
    await held;
    response.writeHead(410).end();
  };
  const path = `/console/webhooks/${webhookId}`;
  const sent = await community.send(await community.open(path), `${path}/test`);
  expect(sent.flash).toBe('');
  expect(sent.text).toMatch(/id="delivery-state".*?Pending.*?on its way.*?<\/div>/s);
  release();
  const failed = await eventually(async () => {
    const page = await community.open(sent.url);
    expect(page.text).toMatch(/id="delivery-state".*?Failed/s);
    return page;
  });
  expect(failed.text).not.toContain('on its way');
  expect(failed.text).toContain('The receiver answered 410 Gone.');
  receiver.answer = answering(200);
});

test('while a failed delivery is being resent, no page shows it as failed', async () => {
  receiver.answer = answering(500);
  const webhookId = await registered(1);
  const bookingId = await booked();
  const delivery = await eventually(async () => {
    const [found] = await running.service.core.webhooks.listDeliveries({ webhookId });
    if (found === undefined || found.attempts.length === 0) throw new Error('Not attempted yet');
    return found;
  });
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  receiver.answer = async (_, response) => {
    await held;
    response.end();
  };
  await stored(delivery, { state: 'Failed', reason: 'The last attempt failed: status 500' });
  const path = `/console/webhooks/${webhookId}/deliveries/${encodeURIComponent(delivery.deliveryId)}`;
  expect((await community.open(path)).text).toContain('The last attempt failed: status 500.');
  const resent = await community.send(await community.open(path), /\/resend$/);
  expect(resent.text).not.toContain('Failed');
  expect(resent.text).not.toContain('The last attempt failed');
  expect(resent.text).toMatch(/id="delivery-state".*?Pending.*?on its way again/s);
  expect(rowsOf(await search({ q: String(bookingId), webhook: webhookId }))[0]).toMatch(
    /Pending 1 attempt, 500, on its way again$/,
  );
  release();
  await eventually(async () => expect((await community.open(path)).text).toMatch(/id="delivery-state".*?Delivered/s));
  receiver.answer = answering(200);
});

/** The times of the attempts on the page of a delivery. */
const momentsIn = (page: Page): readonly string[] =>
  [...page.text.matchAll(/<h3>Response 200<\/h3>.*?<time datetime="([^"]+)"/g)].map(([, moment = '']) => moment);

test('the page of a delivery stays small with many attempts and large responses, and links to all attempts', async () => {
  const webhookId = await registered(1);
  await booked();
  const like = await arrived(webhookId, 'BookingRequested');
  const [attempt] = like.attempts;
  if (attempt === undefined) throw new Error('No attempt');
  const at = (index: number) => timestamp(new Date(Date.parse(like.createdAt) + index * 1_000).toISOString());
  const attempts = Array.from({ length: 50 }, (_, index) => ({ ...attempt, at: at(index), answer: '<'.repeat(1_024) }));
  await stored(like, { attempts });
  const path = `/console/webhooks/${webhookId}/deliveries/${encodeURIComponent(like.deliveryId)}`;
  const newest = await community.open(path);
  for (const altered of ['x', '0', `${at(7)}0`, at(50)]) {
    const page = await community.open(`${path}?before=${altered}`);
    expect(page.flash, altered).toMatch(/^The page that this address asks for is not there any more\./);
    expect(momentsIn(page), altered).toEqual(momentsIn(newest));
  }
  let page = newest;
  expect(page.text).toContain('50 attempts');
  const seen = new Set<string>();
  for (;;) {
    expect(Buffer.byteLength(page.text)).toBeLessThan(60_000);
    expect(page.flash).toBe('');
    for (const moment of momentsIn(page)) seen.add(moment);
    const earlier = /href="([^"]*\?before=[^"]*)"/.exec(page.text)?.[1];
    if (earlier === undefined) break;
    page = await community.open(earlier.replaceAll('&amp;', '&'));
  }
  expect(seen.size).toBe(50);
});

test('the page of a delivery links back to the list it was opened from', async () => {
  const webhookId = await registered(1);
  await booked();
  const { deliveryId } = await arrived(webhookId, 'BookingRequested');
  const webhook = `/console/webhooks/${webhookId}`;
  const path = `${webhook}/deliveries/${encodeURIComponent(deliveryId)}`;
  const backOf = ({ text }: Page) => /<p class="back"><a href="([^"]*)".*? ([^<>]*)<\/a>/s.exec(text)?.slice(1);
  for (const [list, label] of [
    ['/console/webhooks/deliveries?state=Delivered', 'Deliveries'],
    [`${webhook}?event=BookingRequested`, receiver.url],
  ] as const) {
    const page = await community.request(path, { headers: { referer: `${running.url}${list}` } });
    expect(backOf(page)).toEqual([list, label]);
    expect(backOf(await community.send(page, /\/resend\?/))).toEqual([list, label]);
  }
  expect(backOf(await community.open(path))).toEqual([webhook, receiver.url]);
});

test('times of the account use the named time zone of the reader, for display and for input', async () => {
  const webhookId = await registered(1);
  await booked();
  const { createdAt } = await arrived(webhookId, 'BookingRequested');
  const path = `/console/webhooks/${webhookId}`;
  // Unknown, or hidden by the browser: that of the community.
  expect((await community.open(path)).text).toContain('Created (Berlin time)');
  expect((await community.open('/console/keys')).text).toMatch(/created <time[^>]*>[^<]* <span[^>]*>Berlin time/);
  community.setCookie('console_zone', 'Asia/Tokyo');
  const local = await community.open(path);
  const shown = new Intl.DateTimeFormat('en-GB', { timeZone: 'Asia/Tokyo', dateStyle: 'medium', timeStyle: 'medium' });
  expect(local.text).toContain('Created (Tokyo time)');
  expect(local.text).toContain(`<time datetime="${createdAt}">${shown.format(Date.parse(createdAt))}</time>`);
  expect(local.text).not.toMatch(/[ >(]UTC/);
  expect((await community.open('/console/keys')).text).toMatch(/created <time[^>]*>[^<]* <span[^>]*>Tokyo time/);
  // Times of a space use its clock for every reader.
  const history = await community.open('/console/history');
  expect(history.text).toContain('Berlin time');
  expect(history.text).not.toMatch(/[ >(]UTC|Tokyo/);
  const { body } = local.form(`${path}/recover`);
  expect(body.get('zone')).toBe('Asia/Tokyo');

  for (const told of ['UTC', 'Mars/Olympus', '<b>', '+09:00', 'x'.repeat(5_000)]) {
    community.setCookie('console_zone', told);
    expect((await community.open(path)).text, told).toContain('Created (Berlin time)');
  }
  community.setCookie('console_zone', 'europe/lisbon');
  expect((await community.open(path)).text).toContain('Created (Lisbon time)');
  community.setCookie('console_zone', 'UTC');
});
