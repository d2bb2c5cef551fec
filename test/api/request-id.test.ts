import { afterAll, beforeAll, expect, test } from 'vitest';
import { assetUrl } from '../../src/html/assets.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let brand: Awaited<ReturnType<RunningService['brand']>>;
beforeAll(async () => {
  service = await runService({ PUBLIC_URL: 'https://venue.example' });
  brand = await service.brand();
});
afterAll(() => service.stop());

/** The correlation ids that the log holds for events of a type, oldest first. */
const inLog = async (type: string) =>
  Array.fromAsync(
    service.core.events.readAll({ types: [type] }),
    ({ metadata }) => (metadata as { correlationId: string }).correlationId,
  );

test('X-Request-Id is the correlation id of the request’s events', async () => {
  const space = await service.space(await service.community());
  const booked = await service.post('/bookings', {
    key: brand.key,
    body: { spaceId: space, startTime: '2026-12-10', startHour: 10 },
    // A client cannot choose the id, or two requests could share one.
    headers: { 'x-request-id': 'mine'.repeat(2_500) },
  });
  expect(booked.statusCode).toBe(201);
  expect(booked.headers['x-request-id']).not.toContain('mine');
  expect(await inLog('BookingRequested')).toEqual([booked.headers['x-request-id']]);

  const webhook = await service.post('/webhooks', {
    key: brand.key,
    body: { url: 'https://receiver.example/', events: 15 },
  });
  expect(await inLog('WebhookRegistered')).toEqual([webhook.headers['x-request-id']]);
  const removed = await service.delete(`/webhooks/${webhook.json().id}`, { key: brand.key });
  expect(removed.statusCode).toBe(204);
  expect(await inLog('WebhookRemoved')).toEqual([removed.headers['x-request-id']]);
});

test('every response has a unique X-Request-Id, keeps its type and demands https', async () => {
  const answers = await Promise.all([
    service.get('/bookings', { key: brand.key }),
    service.get('/bookings', { key: brand.key }),
    service.get('/bookings'),
    service.get('/nothing', { key: brand.key }),
    service.delete('/webhooks/%ff%', { key: brand.key }),
    service.post('/bookings', { key: brand.key, body: '{' }),
    service.call('GET', '/%ff%', { headers: { accept: 'text/html' } }),
    service.call('GET', '/healthz'),
    service.call('GET', '/openapi.json'),
    service.call('GET', '/console/sign-in'),
    service.call('GET', assetUrl('base.css')),
    service.call('GET', '/.well-known/openid-configuration'),
    service.call('POST', '/mcp'),
    service.call('POST', '/connect/token'),
  ]);
  const ids = answers.map(({ headers }) => headers['x-request-id']);
  expect(ids.filter((id) => typeof id === 'string')).toHaveLength(answers.length);
  expect(new Set(ids).size).toBe(answers.length);
  for (const { headers } of answers)
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'strict-transport-security': 'max-age=31536000',
    });
});

test('an unexpected error includes the request id in its details', async () => {
  const { queries } = service.core;
  const { list } = queries.reviews;
  queries.reviews.list = () => Promise.reject(new Error('unexpected'));
  const answer = await service.get('/communities/1/reviews', { key: brand.key });
  queries.reviews.list = list;
  expect(answer.statusCode).toBe(500);
  expect(answer.json().details).toContain(`(request ${answer.headers['x-request-id']})`);
});
