import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type RunningService, runService } from '../running-service.fixture.ts';

/** Turns of the event loop in which a request that does not wait is answered. */
const TURNS = 500;

let service: RunningService;
/** The names of the queries that were called. */
const called: string[] = [];
let released: Promise<void>;

beforeAll(async () => {
  service = await runService();
  const { queries } = service.core;
  const record = (owner: object) => {
    for (const [name, query] of Object.entries(owner))
      if (typeof query !== 'function') record(query);
      else
        Object.assign(owner, {
          [name](...args: readonly unknown[]) {
            called.push(name);
            return Reflect.apply(query, owner, args);
          },
        });
  };
  record(queries);
  const { pages } = queries.bookings;
  queries.bookings.pages = async function* (...args) {
    await released;
    yield* pages(...args);
  };
});
afterAll(() => service.stop());

test('each route that answers with a list waits for its turn before it reads anything', async () => {
  const { key, ...community } = await service.community();
  const other = await service.key(community.account);
  await service.space(community);
  const { key: brand } = await service.brand();
  const request = { spaceId: 1, startTime: '2026-12-10', startHour: 9 };
  expect((await service.post('/bookings', { key: brand, body: request })).statusCode).toBe(201);
  const { paths } = (await service.call('GET', '/openapi.json')).json();
  const routes = Object.entries<object>(paths).filter(([, operations]) => 'get' in operations);
  const get = (path: string, as = other) =>
    service.get(`${path.replaceAll(/\{\w+\}/g, '1')}${path.endsWith('/availability') ? '?date=2026-12-10' : ''}`, {
      key: as,
    });

  // Lists of one key of the account have its turns.
  const { promise, resolve: release } = Promise.withResolvers<void>();
  released = promise;
  const held = [get('/bookings', key), get('/bookings', key)];
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  const asked = [];
  for (const [path] of routes) {
    called.length = 0;
    const answer = get(path);
    for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
    asked.push({ path, isWaiting: called.length === 0, answer });
  }
  release();
  expect((await Promise.all(held)).map(({ statusCode }) => statusCode)).toEqual([200, 200]);
  for (const { path, isWaiting, answer } of asked) {
    const answered = await answer;
    expect([path, answered.statusCode, isWaiting]).toEqual([path, 200, Array.isArray(answered.json())]);
  }
  expect(asked.filter(({ isWaiting }) => isWaiting).length).toBeGreaterThan(4);
});

/** Lets changes begin and stop there. @returns the count of those that have begun, and what lets them go on */
function holdChanges() {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  const changes = { begun: 0, release };
  const held = async () => {
    changes.begun += 1;
    await promise;
  };
  const { bookings, webhooks } = service.core.commands;
  const { request } = bookings;
  const { register, remove } = webhooks;
  vi.spyOn(bookings, 'request').mockImplementation((...args) => held().then(() => request(...args)));
  vi.spyOn(webhooks, 'register').mockImplementation((...args) => held().then(() => register(...args)));
  vi.spyOn(webhooks, 'remove').mockImplementation((...args) => held().then(() => remove(...args)));
  onTestFinished(() => void vi.restoreAllMocks());
  return changes;
}

async function bookable() {
  const space = await service.space(await service.community());
  return (day: number, key: string) => {
    const startTime = new Date(Date.UTC(2027, 0, 1 + day)).toISOString().slice(0, 10);
    return service.post('/bookings', { key, body: { spaceId: space, startTime, startHour: 9 } });
  };
}

test('changes of one account wait while 32 of them run, and other accounts do not wait', async () => {
  const brand = await service.brand();
  const second = await service.key(brand.account);
  const stranger = (await service.brand('Stranger')).key;
  const book = await bookable();
  const changes = holdChanges();
  const first = Array.from({ length: 32 }, (_, i) => book(i, brand.key));
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  const waiting = [
    book(40, second),
    service.post('/webhooks', { key: second, body: { url: 'https://receiver.example/', events: 1 } }),
    service.delete('/webhooks/01985fd0-0000-7000-8000-000000000000', { key: second }),
  ];
  const other = book(41, stranger);
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  expect(changes.begun).toBe(33);
  changes.release();
  const answers = await Promise.all([...first, other, ...waiting]);
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([...Array(35).fill(201), 404]);
});

test('a change that still waits for its turn after 10 s never begins; the outcome of one that has begun is not known', async () => {
  const { key } = await service.brand();
  const book = await bookable();
  const changes = holdChanges();
  const asked = Array.from({ length: 34 }, (_, i) => book(i, key));
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
  const answers = await Promise.all(asked);
  changes.release();
  for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
  expect(changes.begun).toBe(32);
  expect(answers.map(({ statusCode, body }) => [statusCode, /not known/.test(body)])).toEqual([
    ...Array(32).fill([500, true]),
    ...Array(2).fill([500, false]),
  ]);
});
