import { setImmediate as turn } from 'node:timers/promises';
import type { LightMyRequestResponse } from 'fastify';
import { type Examples, type OperationExamples, RECORDED_AT } from '../../src/description/examples.ts';
import { OPERATIONS, type OperationId } from '../../src/description/operations.ts';
import type { Account } from '../../src/domain/account.ts';
import { ALL_PERMISSIONS, Permission } from '../../src/domain/permissions.ts';
import { OutcomeUnknown, Unavailable } from '../../src/runtime/unavailable.ts';
import { signatureHeaders } from '../../src/webhooks/send/signature.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';
import { startReceiver } from '../webhooks/receiver.ts';

const DATE = '2026-12-10';
/** The event of the bookings that are completed is over. */
const AFTERWARDS = Date.parse('2026-12-11T09:30:00Z');
/** Signs the deliveries in the examples: 32 bytes that are clearly not a real secret. */
const SIGNING_SECRET = `whsec_${Buffer.alloc(32, 'example ').toString('base64')}`;

/** Recorded so far. */
type Recording = { [O in OperationId]: { parameters: object; requests: object; responses: Record<string, object> } };

type Call = {
  readonly key?: string;
  readonly parameters?: { readonly [name: string]: string | number };
  readonly body?: object;
};

/** The path of each operation, with its parameters in braces. */
const ROUTES: { readonly [O in OperationId]: readonly ['GET' | 'POST' | 'DELETE', string] } = {
  listSpaces: ['GET', '/spaces?guests={guests}&date={date}&hour={hour}&communityId={communityId}&Status={Status}'],
  getSpace: ['GET', '/spaces/{spaceId}'],
  getAvailability: ['GET', '/spaces/{spaceId}/availability?date={date}'],
  listBookings: ['GET', '/bookings?startDate={startDate}&endDate={endDate}&status={status}'],
  createBooking: ['POST', '/bookings'],
  getBooking: ['GET', '/bookings/{id}'],
  moveBooking: ['POST', '/bookings/{id}/move'],
  declineMove: ['POST', '/bookings/{id}/move/decline'],
  getBookingHistory: ['GET', '/bookings/{id}/history?asOf={asOf}'],
  listCustomers: ['GET', '/customers?q={q}'],
  createCustomer: ['POST', '/customers'],
  listReviews: ['GET', '/communities/{communityId}/reviews'],
  listWebhooks: ['GET', '/webhooks?Status={Status}'],
  createWebhook: ['POST', '/webhooks'],
  deleteWebhook: ['DELETE', '/webhooks/{id}'],
};

/** Records running services: an example of every request, every response of each operation, and every delivery. */
export async function recordExamples(): Promise<Examples> {
  const operations = withoutChance(await recordOperations());
  const exchanges = withoutChance(await recordExchanges());
  return { operations, exchanges, signingSecret: SIGNING_SECRET, deliveries: withoutChance(await recordDeliveries()) };
}

async function recordOperations(): Promise<Examples['operations']> {
  const service = await runService({ WEBHOOKS_ALLOW_PRIVATE: 'false', PUBLIC_URL: RECORDED_AT });
  try {
    return await recordStory(service);
  } finally {
    await service.stop();
  }
}

async function recordStory(service: RunningService): Promise<Examples['operations']> {
  const { core, time } = service;
  const recording = Object.fromEntries(
    Object.keys(OPERATIONS).map((id) => [id, { parameters: {}, requests: {}, responses: {} }]),
  ) as Recording;

  async function ask(operation: OperationId, { key, parameters = {}, body }: Call): Promise<LightMyRequestResponse> {
    const [method, template] = ROUTES[operation];
    const url = template
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
      .replaceAll(/[?&]\w+=(?=&|$)/g, '')
      .replace(/^([^?]*)&/, '$1?');
    const headers = Object.entries(parameters).filter(([name]) => name.includes('-'));
    const call = { ...(key && { key }), ...(body && { body }) };
    return service.call(method, `/api/v1${url}`, {
      ...call,
      headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
    });
  }

  async function record(operation: OperationId, status: number, name: string, summary: string, call: Call) {
    const answer = await ask(operation, call);
    if (answer.statusCode !== status) throw new Error(`${operation}, ${name}: ${answer.statusCode} ${answer.body}`);
    const { responses, requests } = recording[operation];
    if (status < 300) {
      Object.assign(recording[operation].parameters, call.parameters);
      if (call.body !== undefined) Object.assign(requests, { [name]: { summary, value: call.body } });
    }
    if (answer.body !== '') responses[status] = { ...responses[status], [name]: { summary, value: answer.json() } };
    return answer;
  }

  const harbour = await service.community('Europe/Berlin', 'Harbour Lofts');
  const mill = await service.community('Europe/Berlin', 'Old Mill');
  const brand = await service.brand('Acme');
  const other = await service.brand('Tidewater');
  const hall = await service.space(harbour, { name: 'Great Hall' });
  const barn = await service.space(mill, { name: 'Barn' });
  const by = (account: Account, id: string) => ({
    actor: { kind: 'user', id, account } as const,
    correlationId: 'example',
  });
  const host = by(harbour.account, 'usr_hR2mWq8sLx4TnB6v');
  const planner = by(brand.account, 'usr_Zk9cYf3pDt7JgA5e');
  const { bookings, reviews, catalogue, webhooks } = core.commands;
  const request = async (body: object, key = brand.key): Promise<number> =>
    (await service.post('/bookings', { key, body })).json().id;
  const terms = { communityId: harbour.id };

  // Bookings in every state.
  const completed = await request({ spaceId: hall, startTime: '2026-12-05', startHour: 10 });
  const cancelled = await request({ spaceId: hall, startTime: '2026-12-08', startHour: 14, message: 'Forty guests' });
  const taken = await request({ spaceId: hall, startTime: DATE, startHour: 9 }, other.key);
  for (const bookingId of [completed, cancelled, taken])
    accepted(await bookings.approve({ ...terms, bookingId }, host));
  const party = { kind: 'Brand', id: brand.account.id } as never;
  accepted(await bookings.cancel({ bookingId: cancelled, by: party, reason: 'Our date moved.' }, planner));

  const body = { spaceId: hall, startTime: DATE, startHour: 16, message: 'Forty guests, we bring our own music.' };
  const key = brand.key;
  const parameters = { 'idempotency-key': 'order-4711' };
  await record('createBooking', 201, 'pending', 'The booking, waiting for the community', { key, parameters, body });
  const late = { ...body, startTime: '2026-12-12', startHour: 20 };
  const reduced = 'An event that would run past the booking window: usageHours says what is left';
  await record('createBooking', 201, 'reduced', reduced, { key, body: late });
  const wrong = (name: string, summary: string, status: number, change: object, more: Call = {}) =>
    record('createBooking', status, name, summary, { key, body: { ...body, ...change }, ...more });
  await wrong('hour', 'A value out of range', 400, { startHour: 24 });
  await wrong('missing', 'A field is missing', 400, { startTime: undefined });
  await wrong('space', 'There is no such space', 404, { spaceId: 99 });
  await wrong('taken', 'SlotUnavailable: taken since you asked', 422, {});
  await wrong('window', 'SlotUnavailable: outside the booking window', 422, { startHour: 7 });
  await wrong('past', 'BookingNotAllowed: the date is past', 422, { startTime: '2026-11-30' });
  await wrong(
    'reused',
    'BookingNotAllowed: the Idempotency-Key of another request',
    422,
    { startHour: 17 },
    { parameters },
  );
  accepted(await catalogue.closeSpace(barn, host));
  await wrong('inactive', 'BookingNotAllowed: the space takes no bookings', 422, { spaceId: barn });
  await wrong('scope', 'ScopeViolation: for Brand accounts', 403, {}, { key: harbour.key });

  await record('listSpaces', 200, 'brand', 'What a brand can book', { key });
  await record('listSpaces', 200, 'community', 'The spaces of a community, one of which takes no bookings', {
    key: mill.key,
  });
  await record('listSpaces', 200, 'search', 'Spaces that take eighty guests and are free on a Saturday evening', {
    key,
    parameters: { guests: 80, date: '2026-12-19', hour: 18 },
  });
  await record('listSpaces', 404, 'community', 'There is no such community', { key, parameters: { communityId: 99 } });
  for (const operation of ['listSpaces', 'listWebhooks'] as const)
    await record(operation, 400, 'parameter', 'An unknown query parameter', { key, parameters: { Status: 'Pending' } });
  await record('getSpace', 200, 'space', 'A space', { key, parameters: { spaceId: hall } });
  await record('getSpace', 400, 'id', 'The id is not a number', { key, parameters: { spaceId: 'hall' } });
  const foreign = 'The space of another community';
  await record('getSpace', 404, 'foreign', foreign, { key: mill.key, parameters: { spaceId: hall } });

  const there = { spaceId: hall, date: DATE };
  const slots = 'A booking from nine to one, a request from four to eight';
  await record('getAvailability', 200, 'day', slots, { key, parameters: there });
  await record('getAvailability', 400, 'past', 'The date is past', {
    key,
    parameters: { ...there, date: '2026-11-30' },
  });
  await record('getAvailability', 400, 'missing', 'The date is missing', { key, parameters: { spaceId: hall } });
  await record('getAvailability', 404, 'space', 'There is no such space', {
    key,
    parameters: { ...there, spaceId: 99 },
  });

  time.now = AFTERWARDS;
  accepted(await bookings.complete(completed, host));
  await record('listReviews', 200, 'none', 'No review has been posted yet', {
    key,
    parameters: { communityId: harbour.id },
  });
  const review = { rating: 5, title: 'Quiet, and full of light', content: 'The doors opened early for our florist.' };
  accepted(await reviews.post({ bookingId: completed, ...review }, planner));
  const where = { communityId: harbour.id };
  await record('listReviews', 200, 'reviews', 'The reviews of a community', { key, parameters: where });
  await record('listReviews', 400, 'id', 'The id is not a number', { key, parameters: { communityId: 'harbour' } });
  const hidden = 'A community with which the brand has no completed booking';
  await record('listReviews', 404, 'hidden', hidden, { key, parameters: { communityId: mill.id } });

  const all = 'All bookings of a brand';
  await record('listBookings', 200, 'all', all, { key, parameters: {} });
  const filtered = { startDate: DATE, endDate: '2026-12-31', status: 'Pending' };
  await record('listBookings', 200, 'pending', 'What is waiting for an answer', { key, parameters: filtered });
  await record('listBookings', 400, 'status', 'No such status', { key, parameters: { status: 'Open' } });
  await record('listBookings', 400, 'date', 'Not a date', { key, parameters: { startDate: '10.12.2026' } });

  const backwards = { startDate: '2026-12-31', endDate: DATE };
  await record('listBookings', 400, 'range', 'The dates are in the wrong order', { key, parameters: backwards });

  await record('getBooking', 200, 'cancelled', 'A booking that was cancelled', { key, parameters: { id: cancelled } });
  await record('getBooking', 404, 'hidden', 'The booking of another brand', { key, parameters: { id: taken } });
  await record('getBooking', 400, 'id', 'The id is not a number', { key, parameters: { id: 'x' } });

  const moving = await request({ spaceId: hall, startTime: '2026-12-21', startHour: 10 });
  const later = { key, parameters: { id: moving }, body: { startTime: '2026-12-22', reason: 'Our speaker is ill.' } };
  await record('moveBooking', 200, 'asked', 'A brand asks, and the booking keeps its hours', later);
  await record('moveBooking', 422, 'over', 'A booking that was cancelled', {
    ...later,
    parameters: { id: cancelled },
  });
  await record('moveBooking', 404, 'hidden', 'The booking of another brand', { ...later, parameters: { id: taken } });
  await record('moveBooking', 400, 'hour', 'Not an hour', { ...later, body: { startHour: 24 } });
  const withdrawn = { key, parameters: { id: moving }, body: { reason: 'Our speaker is well again.' } };
  await record('declineMove', 200, 'withdrawn', 'The brand withdraws the move, and the booking stays', withdrawn);
  await record('declineMove', 422, 'none', 'No move waits any more', withdrawn);
  await record('declineMove', 404, 'hidden', 'The booking of another brand', {
    ...withdrawn,
    parameters: { id: taken },
  });
  await record('declineMove', 400, 'long', 'The reason is too long', {
    ...withdrawn,
    body: { reason: 'a'.repeat(501) },
  });

  const story = 'Requested, approved by the community, and cancelled by the brand';
  await record('getBookingHistory', 200, 'cancelled', story, { key, parameters: { id: cancelled } });
  const earlier = { id: cancelled, asOf: '2026-11-01T00:00:00.000Z' };
  await record('getBookingHistory', 200, 'earlier', 'Before it was requested', { key, parameters: earlier });
  await record('getBookingHistory', 404, 'hidden', 'The booking of another brand', { key, parameters: { id: taken } });
  await record('getBookingHistory', 400, 'id', 'The id is not a number', { key, parameters: { id: 'x' } });
  const zoneless = { id: cancelled, asOf: '2026-12-01T12:00:00' };
  await record('getBookingHistory', 400, 'asOf', 'The time has no zone', { key, parameters: zoneless });

  const endpoint = { url: 'https://hooks.example.com/venue', events: 31 };
  await record('createWebhook', 201, 'all', 'A webhook for all events', { key, body: endpoint });
  const local = { ...endpoint, url: 'https://localhost/hooks' };
  await record('createWebhook', 400, 'address', 'The endpoint is not publicly reachable', { key, body: local });
  await record('createWebhook', 400, 'events', 'No event is subscribed to', { key, body: { ...endpoint, events: 0 } });
  const crowded = await service.key(brand.account);
  for (let count = 0; count < 20; count += 1) await service.post('/webhooks', { key: crowded, body: endpoint });
  await record('createWebhook', 400, 'many', 'As many as are allowed', { key: crowded, body: endpoint });
  const gone = { ...endpoint, url: 'https://hooks.example.com/old', events: 3 };
  // Lists are in chronological order.
  time.now += 3_600_000;
  const { id: webhookId } = (await service.post('/webhooks', { key, body: gone })).json();
  accepted(await webhooks.disable({ webhookId, reason: 'The endpoint answered 410.' }, host));
  await record('listWebhooks', 200, 'webhooks', 'One is delivered to, one is disabled', { key });
  const unknown = { key, parameters: { id: 'wh_none' } };
  await record('deleteWebhook', 404, 'unknown', 'There is no such registration', unknown);
  await record('deleteWebhook', 204, 'removed', 'Removed', { key, parameters: { id: webhookId } });
  const broken = await service.delete('/webhooks/%ff', { key });
  recording.deleteWebhook.responses[400] = {
    encoding: { summary: 'The percent-encoding of the path is broken', value: broken.json() },
  };

  const choir = { name: 'Choir of St. Mary', contact: 'Ms. Abel, 030 1234567', discountPercent: 10 };
  const ofHouse = { key: harbour.key };
  await record('createCustomer', 201, 'added', 'A customer who calls', { ...ofHouse, body: choir });
  await record('createCustomer', 400, 'name', 'Another customer has the name', { ...ofHouse, body: choir });
  await record('createCustomer', 403, 'brand', 'ScopeViolation: for communities only', { key, body: choir });
  const everyone = { ...ofHouse, parameters: {} };
  await record('listCustomers', 200, 'all', 'Those that you look after, and brands that have booked', everyone);
  await record('listCustomers', 200, 'found', 'A search', { ...ofHouse, parameters: { q: 'choir' } });
  await record('listCustomers', 400, 'long', 'The search is too long', {
    ...ofHouse,
    parameters: { q: 'a'.repeat(201) },
  });

  // The responses that every operation can return.
  const valid: { readonly [O in OperationId]: Call } = {
    listSpaces: {},
    getSpace: { parameters: { spaceId: hall } },
    getAvailability: { parameters: { ...there, date: '2026-12-20' } },
    listBookings: {},
    createBooking: { body: { ...body, startTime: '2026-12-20' }, parameters: { 'idempotency-key': 'order-4713' } },
    getBooking: { parameters: { id: cancelled } },
    moveBooking: { parameters: { id: moving }, body: { startTime: '2026-12-22' } },
    declineMove: { parameters: { id: moving }, body: {} },
    getBookingHistory: { parameters: { id: cancelled } },
    listCustomers: {},
    createCustomer: { body: { name: 'Another choir' } },
    listReviews: { parameters: where },
    listWebhooks: {},
    createWebhook: { body: endpoint },
    deleteWebhook: { parameters: { id: 'wh_none' } },
  };
  for (const operation of Object.keys(ROUTES) as OperationId[]) {
    const call = valid[operation];
    await record(operation, 401, 'missing', 'There is no credential', call);
    const revoked = `vbs_live_${'A'.repeat(38)}`;
    await record(operation, 401, 'invalid', 'The key or token does not hold', { ...call, key: revoked });
    const permission = PERMISSION_OF[operation];
    const caller = permission === 'Customers' ? harbour : brand;
    const without = await service.key(caller.account, ALL_PERMISSIONS - Permission[permission]);
    await record(operation, 403, 'permission', 'The permission is missing', { ...call, key: without });
    const unknown = [
      'outcome',
      'Nothing answered in time, and whether it was done is unknown',
      new OutcomeUnknown('An example'),
    ] as const;
    for (const [name, summary, error] of [
      ...(ROUTES[operation][0] === 'GET' ? [] : [unknown]),
      ['unexpected', 'An unexpected error', new Error('An example')],
      ['unavailable', 'A store cannot be reached at the moment', new Unavailable('The example store is unavailable')],
    ] as const) {
      const repair = breakAll(service, error);
      await record(operation, 500, name, summary, { ...call, key: caller.key }).finally(repair);
    }
  }
  return recording as Examples['operations'] & { [O in OperationId]: OperationExamples };
}

const PERMISSION_OF: { readonly [O in OperationId]: keyof typeof Permission } = {
  listSpaces: 'ReadAvailability',
  getSpace: 'ReadAvailability',
  getAvailability: 'ReadAvailability',
  listBookings: 'ReadBookings',
  createBooking: 'WriteBookings',
  getBooking: 'ReadBookings',
  moveBooking: 'WriteBookings',
  declineMove: 'WriteBookings',
  getBookingHistory: 'ReadBookings',
  listCustomers: 'Customers',
  createCustomer: 'Customers',
  listReviews: 'ReadReviews',
  listWebhooks: 'Webhooks',
  createWebhook: 'Webhooks',
  deleteWebhook: 'Webhooks',
};

/** Makes all calls from routes throw. @returns a function that restores them */
function breakAll({ core: { queries, commands } }: RunningService, error: Error): () => void {
  const fail = () => {
    const failing = Promise.reject(error);
    // A list is iterated, and the promise itself is left alone.
    failing.catch(() => {});
    return Object.assign(failing, { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }) });
  };
  const broken: readonly (readonly [object, string])[] = [
    [queries.spaces, 'listNamed'],
    [queries.spaces, 'getNamed'],
    [queries, 'availability'],
    [queries.bookings, 'pages'],
    [queries.bookings, 'get'],
    [queries.bookingHistory, 'ofBooking'],
    [queries.customers, 'pages'],
    [commands.customers, 'add'],
    [queries.reviews, 'list'],
    [queries.webhooks, 'listOwned'],
    [commands.bookings, 'request'],
    [commands.moves, 'decline'],
    [commands.webhooks, 'register'],
    [commands.webhooks, 'remove'],
  ];
  const before = broken.map(([of, name]) => Reflect.get(of, name));
  for (const [of, name] of broken) Reflect.set(of, name, fail);
  return () => {
    for (const [index, [of, name]] of broken.entries()) Reflect.set(of, name, before[index]);
  };
}

/** Records the authorization server and the MCP server. */
async function recordExchanges(): Promise<Examples['exchanges']> {
  const service = await runService({ PUBLIC_URL: RECORDED_AT });
  const { authorizationServer } = service.core;
  try {
    const community = await service.community('Europe/Berlin', 'Harbour Lofts');
    const { account } = await service.brand('Acme');
    const spaceId = await service.space(community, { name: 'Great Hall' });
    const client = accepted(
      await authorizationServer.clients.addClient({ account, name: 'Nightly import' }, BY_OPERATOR),
    );
    const { host } = new URL(RECORDED_AT);
    const token = async (more: Readonly<Record<string, string>>): Promise<{ access_token: string }> => {
      const authorization = `Basic ${btoa(`${client.clientId}:${client.clientSecret}`)}`;
      const answer = await service.app.inject({
        method: 'POST',
        url: '/connect/token',
        headers: { host, authorization, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({ grant_type: 'client_credentials', ...more }).toString(),
      });
      return answer.json();
    };
    const details = { spaceId, date: DATE, startHour: 10 };
    const mcpCall = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'request_booking', arguments: { ...details, idempotencyKey: 'order-4711' } },
    };
    const call = (credential: object) =>
      service.app.inject({
        method: 'POST',
        url: '/mcp',
        headers: {
          host,
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          ...credential,
        },
        payload: mcpCall,
      });
    const { access_token } = await token({ resource: 'mcp' });
    const called = await call({ authorization: `Bearer ${access_token}` });
    const { result } = JSON.parse(/^data: (.*)$/m.exec(called.body)?.[1] ?? called.body);
    return {
      tokenAnswer: await token({ resource: 'api' }),
      tokenRefusal: await token({}),
      mcpChallenge: (await call({})).headers['www-authenticate'],
      mcpCall,
      mcpResult: result.structuredContent,
    };
  } finally {
    await service.stop();
  }
}

/** The actual delivery, signed with the secret of the examples at the time of the event. */
async function recordDeliveries(): Promise<Examples['deliveries']> {
  const service = await runService();
  const receiver = await startReceiver();
  const { core, time } = service;
  const { bookings, moves, reviews } = core.commands;
  try {
    await core.webhooks.start();
    const community = await service.community('Europe/Berlin', 'Harbour Lofts');
    const brand = await service.brand('Acme');
    const spaceId = await service.space(community, { name: 'Great Hall' });
    const user = { kind: 'user', id: 'usr_hR2mWq8sLx4TnB6v', account: community.account } as const;
    const context = { actor: user, correlationId: 'example' };
    const { key } = brand;
    const { id } = (await service.post('/webhooks', { key, body: { url: receiver.url, events: 31 } })).json();
    const request = async (startHour: number): Promise<number> => {
      const body = { spaceId, startTime: DATE, startHour, message: 'Forty guests, we bring our own music.' };
      return (await service.post('/bookings', { key, body })).json().id;
    };
    const approved = await request(10);
    await receiver.until(1);
    accepted(await bookings.approve({ bookingId: approved, communityId: community.id as never }, context));
    await receiver.until(2);
    const declined = await request(16);
    await receiver.until(3);
    const by = { kind: 'Community', id: community.id } as never;
    accepted(await bookings.cancel({ bookingId: declined, by, reason: 'The hall is being painted.' }, context));
    await receiver.until(4);
    const move = { bookingId: approved, to: { startHour: 12 } };
    accepted(await moves.move({ ...move, by: brand.account }, context));
    accepted(await moves.move({ ...move, by: community.account }, context));
    await receiver.until(5);
    time.now = AFTERWARDS;
    accepted(await bookings.complete(approved, context));
    const review = { rating: 5, title: 'Quiet, and full of light', content: 'The doors opened early for our florist.' };
    accepted(await reviews.post({ bookingId: approved, ...review }, context));
    await receiver.until(6);
    accepted(await core.webhooks.sendTest(id));
    await receiver.until(7);
    await turn();
    const deliveries = receiver.received.map(({ headers, body }, index) => {
      const { event, timestamp } = JSON.parse(body);
      const signed = { id: `${EXAMPLE_EVENT}${index + 1}:wh_x`, at: Date.parse(timestamp), body: withoutChance(body) };
      const sent = signatureHeaders([SIGNING_SECRET], { ...signed, id: withoutChance(signed.id) });
      const missing = Object.keys(sent).filter((name) => headers[name] === undefined);
      if (missing.length > 0) throw new Error(`A delivery lacks ${missing.join(', ')}`);
      return [event, { headers: sent, body: signed.body }] as const;
    });
    // The first of each kind.
    return Object.fromEntries(deliveries.toReversed());
  } finally {
    await core.webhooks.stop();
    await receiver.close();
    await service.stop();
  }
}

const EXAMPLE_EVENT = '0197b1c2-6d3e-7f40-8a51-b2c3d4e5f60';

/** Replaces random values by fixed ones, in order of appearance. */
function withoutChance<T>(recorded: T): T {
  const isText = typeof recorded === 'string';
  let text = isText ? recorded : JSON.stringify(recorded);
  for (const [pattern, sample] of [
    [/\bwh_(?!none\b)[\w-]+/g, (n: number) => `wh_mQ4dT9rXk2VbN7sLcE${String(n).padStart(2, '0')}`],
    [/\bkey_[\w-]+/g, (n: number) => `key_p7FzRj3Wq8Ht${String(n).padStart(2, '0')}`],
    [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, () => 'eyJhbGciOiJSUzI1NiIsInR5cCI6ImF0K2p3dCJ9…'],
    [/\bwhsec_[A-Za-z0-9+/]{43}=/g, () => SIGNING_SECRET],
    [/\(request [\w-]+\)/g, () => '(request 5d0c9a3e-1f)'],
  ] as const) {
    const seen = new Map<string, string>();
    text = text.replaceAll(pattern, (found) => {
      const known = seen.get(found) ?? sample(seen.size + 1);
      seen.set(found, known);
      return known;
    });
  }
  return isText ? (text as T) : JSON.parse(text);
}
