import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IDEMPOTENCY_KEY_KEPT_MS } from '../../src/commands/idempotency-keys.ts';
import { ERROR_STATUS } from '../../src/contract/schemas/errors.ts';
import { RECORDED_AT } from '../../src/description/examples.ts';
import type { ApiDescription } from '../../src/description/openapi.ts';
import { asOpenApi30 } from '../../src/description/openapi-3.0.ts';
import { picked } from '../../src/domain/picked.ts';
import { MAX_WEBHOOKS, WEBHOOKS_PER_MINUTE } from '../../src/domain/webhook.ts';
import { PLANNED_DELAYS_MS } from '../../src/outbox/schedule.ts';
import { DISABLE_AFTER_PROBES, MAX_PAUSE_MS } from '../../src/webhooks/breaker.ts';
import { DEADLINE_MS } from '../../src/webhooks/send/http-sender.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';
import { createDescriptionCheck, type Schema } from './described.ts';

type Media = { readonly schema: Schema; readonly examples: Record<string, { summary: string; value: unknown }> };
type Body = { readonly content: { readonly 'application/json': Media } };
type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
  readonly example?: unknown;
};
type Operation = {
  readonly operationId: string;
  readonly description: string;
  readonly 'x-permission': string;
  readonly security: readonly Record<string, readonly string[]>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Record<string, { description: string; headers?: object; content?: Body['content'] }>;
};

let service: RunningService;
let text: string;
let api: Omit<ApiDescription, 'paths' | 'webhooks'> & {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly webhooks: Record<string, { post: Operation }>;
  readonly components: { schemas: Record<string, Schema>; securitySchemes: Record<string, Schema> };
};
let operations: readonly (Operation & { readonly call: string })[];
let valid: ReturnType<typeof createDescriptionCheck>;

beforeAll(async () => {
  service = await runService({ PUBLIC_URL: RECORDED_AT });
  const answer = await service.call('GET', '/openapi.json', { headers: { origin: 'https://tools.example' } });
  expect(answer.headers['access-control-allow-origin']).toBe('*');
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  text = answer.body;
  api = JSON.parse(text);
  operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, call: `${method.toUpperCase()} ${path}` })),
  );
  valid = createDescriptionCheck(text);
});
afterAll(() => service.stop());

test('the copy in docs equals the answer of a service (after a change: npm run describe)', async () => {
  await expect(`${JSON.stringify(api, null, 2)}\n`).toMatchFileSnapshot('../../docs/openapi.json');
});

test('the copy as OpenAPI 3.0 has every operation, and only schemas that they use', async () => {
  const { json, headers } = await service.call('GET', '/openapi-3.0.json');
  expect(headers['access-control-allow-origin']).toBe('*');
  const copy = json();
  // `npm run check` lints what this function makes of the copy in docs.
  expect(copy).toEqual(asOpenApi30(JSON.parse(text)));
  expect(copy).toMatchObject({ openapi: '3.0.3', info: { license: { name: 'MIT' } }, paths: api.paths });
  expect(copy).not.toHaveProperty('webhooks');
  const { schemas } = api.components;
  const used = Object.keys(schemas).filter((name) => !/Delivery$|Data$|^CancelledBy$/.test(name));
  expect(copy.components).toEqual({ ...api.components, schemas: picked(schemas, used) });
});

test.each(['/openapi.json', '/openapi-3.0.json'])('%s has an entity tag, and answers a preflight', async (url) => {
  const { headers } = await service.call('GET', url);
  const held = { 'if-none-match': String(headers.etag) };
  expect((await service.call('GET', url, { headers: held })).statusCode).toBe(304);
  const preflight = await service.app.inject({
    method: 'OPTIONS',
    url,
    headers: {
      origin: 'https://tools.example',
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'if-none-match',
    },
  });
  expect([preflight.statusCode, preflight.headers]).toMatchObject([
    204,
    {
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'if-none-match',
      'access-control-max-age': '3600',
      'access-control-expose-headers': expect.stringContaining('ETag'),
    },
  ]);
});

test('covers every operation with its name and the permission it needs', () => {
  expect(
    Object.fromEntries(operations.map(({ operationId, call, ...o }) => [operationId, [call, o['x-permission']]])),
  ).toEqual({
    listSpaces: ['GET /spaces', 'ReadAvailability'],
    getSpace: ['GET /spaces/{spaceId}', 'ReadAvailability'],
    getAvailability: ['GET /spaces/{spaceId}/availability', 'ReadAvailability'],
    listBookings: ['GET /bookings', 'ReadBookings'],
    createBooking: ['POST /bookings', 'WriteBookings'],
    getBooking: ['GET /bookings/{id}', 'ReadBookings'],
    moveBooking: ['POST /bookings/{id}/move', 'WriteBookings'],
    declineMove: ['POST /bookings/{id}/move/decline', 'WriteBookings'],
    getBookingHistory: ['GET /bookings/{id}/history', 'ReadBookings'],
    listCustomers: ['GET /customers', 'Customers'],
    createCustomer: ['POST /customers', 'Customers'],
    listReviews: ['GET /communities/{communityId}/reviews', 'ReadReviews'],
    listWebhooks: ['GET /webhooks', 'Webhooks'],
    createWebhook: ['POST /webhooks', 'Webhooks'],
    deleteWebhook: ['DELETE /webhooks/{id}', 'Webhooks'],
  });
  for (const { description, security, ...operation } of operations) {
    const permission = operation['x-permission'];
    expect(description).toContain(`permission \`${permission}\``);
    const scope =
      {
        WriteBookings: 'service.api.write',
        Webhooks: 'service.api.webhooks',
        Customers: 'service.api.customers',
      }[permission] ?? 'service.api.read';
    // Of several alternatives, generated clients choose one that they cannot carry out.
    expect(security).toEqual([{ bearer: [] }]);
    expect(description).toContain(`scope \`${scope}\``);
  }
  expect(operations.filter(({ description }) => /Brand accounts/.test(description)).map((o) => o.operationId)).toEqual([
    'createBooking',
  ]);
});

test('schemas have the names of the specification and are referenced', () => {
  const names = Object.keys(api.components.schemas);
  const specified = [
    'AvailabilityResponse',
    'TimeSlot',
    'BookingDto',
    'ReviewDto',
    'WebhookDto',
    'WebhookCreatedDto',
    'Error',
  ];
  expect(names).toEqual(expect.arrayContaining([...specified, 'CreateBooking', 'CreateWebhook', 'HistoryEntry']));
  for (const name of names) expect(text, name).toContain(`"$ref":"#/components/schemas/${name}"`);
  const response = (operationId: string, status: number) =>
    operations.find((operation) => operation.operationId === operationId)?.responses[status]?.content?.[
      'application/json'
    ].schema;
  expect(response('createBooking', 201)).toEqual({ $ref: '#/components/schemas/BookingDto' });
  expect(response('listBookings', 200)).toEqual({ type: 'array', items: { $ref: '#/components/schemas/BookingDto' } });
  for (const { responses } of operations)
    for (const [status, { content }] of Object.entries(responses))
      if (Number(status) >= 400)
        expect(content?.['application/json'].schema).toEqual({ $ref: '#/components/schemas/Error' });
});

test('values have the same constraints as in the service', () => {
  const { schemas } = api.components;
  const property = (schema: string, name: string) =>
    (schemas[schema]?.properties as Record<string, Schema> | undefined)?.[name];
  expect(schemas.Change?.properties).toEqual({
    from: { description: expect.stringContaining('A text or a number.') },
    to: { description: expect.stringContaining('A text or a number.') },
  });
  expect(property('Error', 'details')).toHaveProperty('x-ms-primary-error-message', true);
  JSON.parse(text, (_, value) => {
    if (value?.type === 'number') expect(value).toHaveProperty('format', 'double');
    if (value?.type === 'integer' && !(value.maximum < 2 ** 31) && value.minimum === 0)
      expect(value).toHaveProperty('format', 'int64');
    return value;
  });
  expect(property('CreateWebhook', 'events')).toMatchObject({ minimum: 1, maximum: 31 });
  expect(property('CreateWebhook', 'url')).toMatchObject({ format: 'uri', maxLength: 2_048 });
  expect(property('WebhookDto', 'id')).toMatchObject({ pattern: '^wh_[A-Za-z0-9_-]+$' });
  expect(property('WebhookCreatedDto', 'signingSecret')).toMatchObject({ pattern: '^whsec_[A-Za-z0-9+/]{43}=$' });
  expect(property('CreateBooking', 'message')).toMatchObject({ maxLength: 500 });
  expect(property('CreateBooking', 'startHour')).toMatchObject({ minimum: 0, maximum: 23 });
  expect(schemas.BookingEvent).toMatchObject({
    enum: [
      'BookingRequested',
      'BookingApproved',
      'BookingCancelled',
      'BookingCompleted',
      'BookingMoveAsked',
      'BookingMoveAgreed',
      'BookingMoveEnded',
      'BookingMoved',
    ],
  });
});

describe('examples', () => {
  test('match their schemas', () => {
    let checked = 0;
    for (const { operationId, parameters = [], requestBody, responses } of [
      ...operations,
      ...Object.values(api.webhooks).map(({ post }) => post),
    ]) {
      for (const { name, schema, example } of parameters)
        if (example !== undefined) expect(valid(schema, example), `${operationId}: ${name}`).toEqual([]);
      const bodies = [requestBody, ...Object.values(responses)].flatMap(
        (body) => body?.content?.['application/json'] ?? [],
      );
      for (const { schema, examples } of bodies)
        for (const [name, { value }] of Object.entries(examples)) {
          checked += 1;
          expect(valid(schema, value), `${operationId}: ${name}`).toEqual([]);
        }
    }
    expect(checked).toBeGreaterThan(70);
    // The check can fail.
    expect(valid({ $ref: '#/components/schemas/BookingDto' }, { id: 1 })).not.toEqual([]);
  });

  test('exist for every body, required parameter and status', () => {
    for (const { operationId, parameters = [], requestBody, responses } of operations) {
      for (const { name, required, example } of parameters)
        if (required) expect(example, `${operationId}: ${name}`).toBeDefined();
      if (requestBody) expect(Object.keys(requestBody.content['application/json'].examples).length).toBeGreaterThan(0);
      for (const [status, { content, description }] of Object.entries(responses)) {
        expect(description, `${operationId} ${status}`).toMatch(/\w{3}/);
        if (status === '204' || status === '304') expect(content).toBeUndefined();
        else
          expect(Object.keys(content?.['application/json'].examples ?? {}), `${operationId} ${status}`).not.toEqual([]);
      }
    }
  });

  test('of errors cover every code of an operation, under its status', () => {
    const codes: Record<string, Set<string>> = {};
    for (const { operationId, responses } of operations)
      for (const [status, { content }] of Object.entries(responses))
        for (const { value } of Object.values(content?.['application/json'].examples ?? {})) {
          if (Number(status) < 400) continue;
          const { error } = value as { error: keyof typeof ERROR_STATUS };
          expect(ERROR_STATUS[error], `${operationId} ${status}`).toBe(Number(status));
          codes[operationId] = (codes[operationId] ?? new Set()).add(error);
        }
    expect([...(codes.createBooking ?? [])].sort()).toEqual(Object.keys(ERROR_STATUS).sort());
    expect([...(codes.getAvailability ?? [])].sort()).toEqual([
      'InsufficientPermissions',
      'InternalError',
      'InvalidApiKey',
      'ResourceNotFound',
      'ValidationError',
    ]);
  });
});

describe('webhooks', () => {
  test('covers all payloads, with the headers of both signatures', () => {
    expect(Object.keys(api.webhooks)).toEqual([
      'BookingRequested',
      'BookingApproved',
      'BookingCancelled',
      'BookingMoved',
      'ReviewPosted',
      'Test',
    ]);
    for (const [event, { post }] of Object.entries(api.webhooks)) {
      expect(post.requestBody?.content['application/json'].schema).toEqual({
        $ref: `#/components/schemas/${event}Delivery`,
      });
      expect(post.parameters?.map(({ name }) => name)).toEqual([
        'X-Service-Signature',
        'webhook-id',
        'webhook-timestamp',
        'webhook-signature',
      ]);
      expect(Object.keys(post.responses)).toEqual(['401', '410', '2XX', 'default']);
    }
  });

  const section = (name: string) => api.tags.find((tag) => tag.name === name)?.description ?? '';
  const secret = () => /whsec_[A-Za-z0-9+/=]+/.exec(section('Deliveries').split('signed with')[1] ?? '')?.[0] ?? '';
  /** The examples as a receiver gets them. */
  const examples = () =>
    Object.values(api.webhooks).map(({ post }) => ({
      headers: Object.fromEntries(
        (post.parameters ?? []).map(({ name, example }) => [name.toLowerCase(), String(example)]),
      ),
      body: JSON.stringify(post.requestBody?.content['application/json'].examples.delivery?.value),
    }));

  test('the Standard Webhooks libraries verify the examples despite their old timestamps', () => {
    for (const { headers, body } of examples()) {
      const old = () => new Webhook(secret()).verify(body, headers);
      expect(old).toThrow(/too (old|new)/);
      const at = Number(headers['webhook-timestamp']) * 1_000;
      expect(new Webhook(secret()).sign(headers['webhook-id'] ?? '', new Date(at), body)).toBe(
        headers['webhook-signature'],
      );
    }
  });

  test('the guide states the real limits, deadlines and schedule', () => {
    const [, ...delays] = PLANNED_DELAYS_MS;
    const minutes = (ms: number) => ms / 60_000;
    const said = delays.map((ms) =>
      ms < 60_000 ? `${ms / 1_000} s` : minutes(ms) < 60 ? `${minutes(ms)} min` : `${minutes(ms) / 60} h`,
    );
    const guide = readFileSync(new URL('../../docs/guides/webhooks.md', import.meta.url), 'utf8');
    for (const page of [section('Deliveries'), guide]) {
      const text = page.replaceAll(/\s+/g, ' ');
      expect(text).toContain(`after ${said.slice(0, -1).join(', ')} and ${said.at(-1)},`);
      const hours = PLANNED_DELAYS_MS.reduce((sum, ms) => sum + ms, 0) / 3_600_000;
      expect(text).toContain(`about ${Math.ceil(hours)} hours`);
      expect(text).toContain(`within ${DEADLINE_MS / 1_000} seconds`);
      expect([(DISABLE_AFTER_PROBES * MAX_PAUSE_MS) / 86_400_000, text.toLowerCase()]).toEqual([
        5,
        expect.stringContaining('five days'),
      ]);
    }
    expect(section('Webhooks')).toContain(`At most ${MAX_WEBHOOKS} registrations`);
    expect(section('Webhooks')).toContain(`${WEBHOOKS_PER_MINUTE} registrations in a minute`);
    expect(section('Bookings')).toContain(`for ${IDEMPOTENCY_KEY_KEPT_MS / 86_400_000} days`);
  });
});

test('describes authentication with keys and with OpenID Connect', () => {
  const { bearer, openIdConnect, oauth2 } = api.components.securitySchemes;
  expect(bearer).toMatchObject({ type: 'http', scheme: 'bearer', description: expect.stringContaining('vbs_live_') });
  expect(openIdConnect).toMatchObject({
    openIdConnectUrl: `${RECORDED_AT}/.well-known/openid-configuration`,
    description: expect.stringMatching(
      /resource=api.*service\.api\.read.*service\.api\.write.*service\.api\.webhooks/s,
    ),
  });
  expect(oauth2).toMatchObject({ flows: { authorizationCode: { tokenUrl: `${RECORDED_AT}/connect/token` } } });
});

test('has contact, licence, servers and a description for every tag', () => {
  expect(api).toMatchObject({
    openapi: '3.1.0',
    info: { license: { identifier: 'MIT' }, contact: { url: RECORDED_AT } },
    servers: [{ url: `${RECORDED_AT}/api/v1` }],
  });
  const described = api.tags.filter(({ description }) => description.length > 100).map(({ name }) => name);
  expect(described).toEqual(['Spaces', 'Bookings', 'Customers', 'Reviews', 'Webhooks', 'Deliveries']);
  expect(new Set(operations.flatMap((operation) => (operation as { tags?: string[] }).tags ?? []))).toEqual(
    new Set(described.slice(0, 5)),
  );
});

test.each([
  ['time zones', /IANA time zone/],
  ['the currency', /in USD/],
  ['the service fee and rounding', /15 %, rounded half up to a cent/],
  ['where ids come from', /`spaceId`: answered by `listSpaces`/],
  ['cross-origin calls', /from any origin may call \(CORS\)/],
  ['the order of refusals', /401, 403 `InsufficientPermissions`, 403 `ScopeViolation`, 400, 404, 422/],
])('documents %s', (_, fact) => {
  expect(api.info.description.replaceAll(/\s+/g, ' ')).toMatch(fact);
});

test('operations with entity tags accept conditional requests', () => {
  for (const id of ['listSpaces', 'getSpace', 'getAvailability', 'getBooking', 'getBookingHistory', 'listReviews']) {
    const operation = operations.find(({ operationId }) => operationId === id);
    expect(operation?.parameters).toContainEqual(expect.objectContaining({ in: 'header', name: 'If-None-Match' }));
    expect(Object.keys(operation?.responses['200']?.headers ?? {})).toEqual(['ETag', 'Cache-Control', 'X-Request-Id']);
    expect(operation?.responses['304']?.description).toMatch(/current/);
  }
});
