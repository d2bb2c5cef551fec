import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import type { BookingRows } from '../../src/queries/bookings.ts';
import { eventually } from '../eventually.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';

/** Pages of one list: more than any socket buffers. */
const PAGES = 100_000;
const CONNECTIONS = 5;
const PIPELINED = 20;

let service: RunningService;
let url: string;
let account: Account;
let greedy: string;
let other: string;
/** Lists that have started, the maximum in progress at once, and the total number of pages read. */
let lists: { begun: number; open: number; most: number; pages: number };
const sockets: Socket[] = [];
/** Runs while the first page of a list is read. */
let meanwhile: () => Promise<void>;
/** Whether the pages of a list cannot be compressed, so that sockets buffer no more of a compressed list than of a plain one. */
let isRandom: boolean;

beforeEach(async () => {
  const running = await runServiceAt();
  ({ service, url } = running);
  const space = await service.space(await service.community());
  const [brand, next] = [await service.brand(), await service.brand('Other')];
  [account, greedy, other] = [brand.account, brand.key, next.key];
  for (const [key, startTime] of [
    [greedy, '2026-12-10'],
    [other, '2026-12-11'],
  ] as const)
    for (const startHour of [9, 13, 17])
      expect(
        (await service.post('/bookings', { key, body: { spaceId: space, startTime, startHour } })).statusCode,
      ).toBe(201);
  meanwhile = async () => {};
  isRandom = false;
  lists = { begun: 0, open: 0, most: 0, pages: 0 };
  const { bookings } = service.core.queries;
  const pages = bookings.pages;
  vi.spyOn(bookings, 'pages').mockImplementation(async function* (account, filter) {
    if (account.id !== brand.account.id) return yield* pages(account, filter);
    lists.begun += 1;
    lists.open += 1;
    lists.most = Math.max(lists.most, lists.open);
    try {
      await meanwhile();
      for (let i = 0; i < PAGES; i += 1) {
        lists.pages += 1;
        for await (const page of pages(account, filter)) yield isRandom ? randomNames(page, i) : page;
      }
    } finally {
      lists.open -= 1;
    }
  });
  await running.listen();
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const socket of sockets.splice(0)) socket.destroy();
  await service.stop();
});

/** The page with names that cannot be compressed. */
const randomNames = ({ rows, ...page }: BookingRows, times: number): BookingRows => ({
  ...page,
  rows: rows.map((row) => ({
    ...row,
    key: `${row.key} ${times}`,
    read: () => ({ ...row.read(), spaceName: randomBytes(1_000).toString('base64') }),
  })),
});

/** Opens a connection that requests lists and reads nothing. */
async function ask(times: number, key = greedy, encoding = 'identity'): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  await once(socket, 'connect');
  const request = `GET /api/v1/bookings?startDate=2026-12-01 HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\nAccept-Encoding: ${encoding}\r\n\r\n`;
  socket.pause().write(request.repeat(times));
  return socket;
}

/** Resolves once the lists are no longer read. */
async function settled(): Promise<void> {
  let before = -1;
  await eventually(() => {
    const now = lists.pages;
    const isSettled = now === before;
    before = now;
    expect(isSettled).toBe(true);
  });
}

test('unread lists start two at a time per account, and are produced only as far as sockets buffer', async () => {
  const keys = await Promise.all(Array.from({ length: CONNECTIONS }, () => service.key(account)));
  await Promise.all(keys.map((key) => ask(PIPELINED, key)));
  await eventually(() => expect(lists.open).toBe(2));
  await settled();
  expect(lists).toMatchObject({ begun: 2, most: 2 });
  expect(lists.pages).toBeLessThan(PAGES);

  // Another account does not have to wait.
  const answer = await fetch(`${url}/api/v1/bookings?startDate=2026-12-01`, {
    headers: { authorization: `Bearer ${other}` },
  });
  expect([answer.status, await answer.json()]).toEqual([
    200,
    [expect.anything(), expect.anything(), expect.anything()],
  ]);
});

test.each(['gzip', 'br'])('an unread list in %s is produced only as far as sockets buffer', async (encoding) => {
  isRandom = true;
  await ask(PIPELINED, greedy, encoding);
  await eventually(() => expect(lists.pages).toBeGreaterThan(0));
  await settled();
  expect(lists).toMatchObject({ begun: 1, open: 1 });
  expect(lists.pages).toBeLessThan(PAGES);
  for (const socket of sockets) socket.destroy();
  await eventually(() => expect(lists.open).toBe(0));
});

test('a list that waits too long for its turn is refused, and its connection closed', async () => {
  await Promise.all([ask(1), ask(1)]);
  await eventually(() => expect(lists.open).toBe(2));
  const third = await ask(PIPELINED);
  let text = '';
  for await (const chunk of third.resume()) text += chunk;
  expect(text).toMatch(/^HTTP\/1\.1 500 .*"InternalError"/s);
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect(text).toMatch(/retry-after: \d/i);
});

test('no list starts for a closed connection', async () => {
  await Promise.all(Array.from({ length: CONNECTIONS }, () => ask(PIPELINED)));
  await eventually(() => expect(lists.open).toBe(2));
  for (const socket of sockets) socket.destroy();
  const connections = promisify(service.app.server.getConnections.bind(service.app.server));
  await eventually(async () => expect([lists.open, await connections()]).toEqual([0, 0]));
  // Not even the next list of each connection, unless its turn came before the server noticed the close.
  expect(lists.begun).toBeLessThanOrEqual(CONNECTIONS);
});

test('a list whose connection closes before its answer begins is abandoned', async () => {
  const connections = promisify(service.app.server.getConnections.bind(service.app.server));
  meanwhile = async () => {
    for (const socket of sockets) socket.destroy();
    await eventually(async () => expect(await connections()).toBe(0));
  };
  await ask(1);
  await eventually(() => expect(lists.pages).toBeGreaterThan(0));
  await eventually(() => expect(lists.open).toBe(0));
  expect(lists.pages).toBeLessThan(PAGES);
});

test('pipelined responses arrive in order, each after the previous one has been read', async () => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  const paths = ['/healthz', '/api/v1/bookings', '/api/v1/unknown', '/healthz'];
  const head = `Host: ${hostname}\r\nAuthorization: Bearer ${other}\r\n`;
  socket.write(
    paths.map((path, i) => `GET ${path} HTTP/1.1\r\n${head}${i === 3 ? 'Connection: close\r\n' : ''}\r\n`).join(''),
  );
  let text = '';
  for await (const chunk of socket) text += chunk;
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))).toEqual([200, 200, 404, 200]);
});

test('the connection of a response that is not read for 35 s is closed', async () => {
  const { server } = service.app;
  expect(server.timeout).toBe(35_000);
  server.timeout = 300;
  const connections = promisify(server.getConnections.bind(server));
  await ask(PIPELINED);
  await eventually(() => expect(lists.open).toBe(1));
  await eventually(async () => expect([lists.open, await connections()]).toEqual([0, 0]));
  expect(lists.begun).toBe(1);
});

test('a connection that pipelines many requests is closed after sixteen more answers, also if its client reads none', async () => {
  const connections = promisify(service.app.server.getConnections.bind(service.app.server));
  const asked = await ask(150, other);
  await eventually(async () => expect(await connections()).toBe(0));
  let text = '';
  for await (const chunk of asked.resume()) text += chunk;
  expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(17);
  expect(text.match(/connection: close/gi)).toHaveLength(1);
});
