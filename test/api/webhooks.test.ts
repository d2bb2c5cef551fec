import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { webhooks } from '../../projections/webhooks.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let brand: Awaited<ReturnType<RunningService['brand']>>;

beforeAll(async () => {
  service = await runService({ WEBHOOKS_ALLOW_PRIVATE: 'false' });
  brand = await service.brand();
});
afterAll(() => service.stop());

const register = (body: unknown, key = brand.key) => service.post('/webhooks', { key, body });
const endpoint = { url: 'https://example.com/hooks', events: 3 };

test('the secret is returned once and stored nowhere in the clear', async () => {
  const made = await register(endpoint);
  expect(made.statusCode).toBe(201);
  expect(made.json()).toEqual({
    id: expect.stringMatching(/^wh_[\w-]+$/),
    ...endpoint,
    createdAt: '2026-12-01T12:00:00.000Z',
    signingSecret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  });
  const { signingSecret, ...shown } = made.json();
  expect((await service.get('/webhooks', { key: brand.key })).json()).toEqual([shown]);

  const stored = await service.core.projector.readModels.collection(webhooks).get(shown.id);
  expect(JSON.stringify(stored)).not.toContain(signingSecret);
  for await (const event of service.core.events.readAll())
    expect(JSON.stringify(event)).not.toContain(signingSecret.slice('whsec_'.length));
});

test('a URL with an internationalised host name is registered in its ASCII form', async () => {
  const made = await register({ url: 'https://bücher.example.com/été', events: 1 }, await service.key(brand.account));
  expect(made.json()).toMatchObject({ url: 'https://xn--bcher-kva.example.com/%C3%A9t%C3%A9' });
});

test('registrations belong to the key that made them, and removal is permanent', async () => {
  const other = await service.key(brand.account);
  const { id } = (await register(endpoint, other)).json();
  const ids = async (key: string) =>
    (await service.get('/webhooks', { key })).json().map((webhook: { id: string }) => webhook.id);
  expect(await ids(other)).toEqual([id]);
  expect(await ids(brand.key)).not.toContain(id);

  expect((await service.delete(`/webhooks/${id}`, { key: brand.key })).statusCode).toBe(404);
  const removed = await service.delete(`/webhooks/${id}`, { key: other });
  expect([removed.statusCode, removed.body]).toEqual([204, '']);
  const { id: another } = (await register(endpoint, other)).json();
  const headers = { 'content-type': 'application/json', 'content-length': '0' };
  expect((await service.delete(`/webhooks/${another}`, { key: other, headers })).statusCode).toBe(204);
  expect(await ids(other)).toEqual([]);
  expect((await service.delete(`/webhooks/${id}`, { key: other })).json().error).toBe('ResourceNotFound');
  expect((await service.delete('/webhooks/wh_none', { key: other })).statusCode).toBe(404);
});

describe('invalid input is a 400 that names the field', () => {
  test.each([
    [{ events: 3 }, /url/],
    [{ url: 'https://example.com' }, /events/],
    [{ ...endpoint, url: 'http://example.com' }, /url/],
    [{ ...endpoint, url: 'not a url' }, /url/],
    [{ ...endpoint, url: 'https://127.0.0.1/' }, /url/],
    [{ ...endpoint, url: 'https://[::1]/' }, /url/],
    [{ ...endpoint, url: 'https://10.1.2.3/' }, /url/],
    [{ ...endpoint, url: 'https://user:password@example.com/' }, /url/],
    [{ ...endpoint, url: 5 }, /url/],
    [{ ...endpoint, url: ' https://example.com/hooks' }, /url .*write https:\/\/example\.com\/hooks/],
    [{ ...endpoint, url: 'https://example.com/\nhooks' }, /url .*valid URL/],
    [{ ...endpoint, url: 'https:example.com' }, /url .*valid URL/],
    [{ ...endpoint, url: 'https:\\\\example.com' }, /url .*valid URL/],
    [{ ...endpoint, url: 'https:///example.com' }, /url .*valid URL/],
    [{ ...endpoint, url: 'https://example.com/\u0000' }, /url .*U\+0000/],
    [{ ...endpoint, events: 0 }, /events/],
    [{ ...endpoint, events: 32 }, /events/],
    [{ ...endpoint, events: -1 }, /events/],
    [{ ...endpoint, events: 1.5 }, /events/],
    [{ ...endpoint, events: '3' }, /events/],
  ])('%j', async (body, details) => {
    const answer = await register(body);
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ error: 'ValidationError', details: expect.stringMatching(details) });
  });
});

test('a key can have at most twenty registrations', async () => {
  const key = await service.key(brand.account);
  for (let count = 0; count < 20; count += 1) expect((await register(endpoint, key)).statusCode).toBe(201);
  const answer = await register(endpoint, key);
  expect(answer.statusCode).toBe(400);
  expect(answer.json().details).toMatch(/20/);
});

test('concurrent registrations cannot exceed the limit, and an account can make at most thirty a minute', async () => {
  const { account } = await service.brand();
  const registerMany = (key: string, count: number) =>
    Promise.all(Array.from({ length: count }, () => register(endpoint, key)));
  const key = await service.key(account);
  const answers = await registerMany(key, 40);
  expect(answers.filter(({ statusCode }) => statusCode === 201)).toHaveLength(20);
  expect((await service.get('/webhooks', { key })).json()).toHaveLength(20);

  const others = await registerMany(await service.key(account), 12);
  const refused = others.filter(({ statusCode }) => statusCode !== 201);
  expect(refused).toHaveLength(2);
  for (const answer of refused) {
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([400, '60']);
    expect(answer.json()).toEqual({
      error: 'ValidationError',
      details: expect.stringContaining('30 webhooks per minute'),
    });
  }
});
