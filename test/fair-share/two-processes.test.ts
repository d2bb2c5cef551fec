import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonWith } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { temporaryDataDir } from '../service/service-process.ts';
import type { Counts } from './attacked-process.ts';

/** The attacks of one account on two processes that share a store. */

type Process = { readonly url: string; readonly child: ChildProcess };
const PENDING_LIMIT = 10;
/** Connections to each process that do not read their lists. */
const UNREAD = 10;
const SPACE = ['--name', 'Hall', '--window', '9-22', '--duration', '1', '--fee', '10.00'];

const processes: Process[] = [];
const sockets: Socket[] = [];
let greedy: string;
let other: string;
let client: { readonly clientId: string; readonly clientSecret: string };
let removeDataDir = () => {};

beforeAll(async () => {
  const dataDir = temporaryDataDir((remove) => {
    removeDataDir = remove;
  });
  const ports = [await freePort(), await freePort()];
  const settings = { DATA_DIR: dataDir, DEMO: 'false', PUBLIC_URL: `http://localhost:${ports[0]}` };
  for (const port of ports) {
    const env = { ...settings, PATH: process.env.PATH, PORT: String(port), PENDING_LIMIT: String(PENDING_LIMIT) };
    const child = fork(new URL('attacked-process.ts', import.meta.url), { env });
    await once(child, 'message');
    processes.push({ url: `http://127.0.0.1:${port}`, child });
  }
  const venue = (...args: readonly string[]) => jsonWith(settings, ...args);
  await venue('community', 'add', '--name', 'Harbour', '--time-zone', 'Europe/Berlin');
  await venue('space', 'add', '--community', '1', ...SPACE);
  for (const name of ['Acme', 'Rival']) await venue('brand', 'add', '--name', name);
  [greedy, other] = [
    (await venue('api-key', 'issue', '--brand', '1')).key,
    (await venue('api-key', 'issue', '--brand', '2')).key,
  ];
  client = await venue('client', 'add', '--brand', '1');
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const { child } of processes) {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
  removeDataDir();
});

const onBoth = async <R>(work: (process: Process) => Promise<R>): Promise<R[]> => Promise.all(processes.map(work));

const countsOf = ({ child }: Process): Promise<Counts> => {
  const answer = once(child, 'message');
  child.send('counts');
  return answer.then(([counts]) => counts);
};

const call = ({ url }: Process, key: string, method: string, path: string, body?: object, headers = {}) =>
  fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });

const BOOKED_PER_DAY = 10;
let booked = 0;
/** Requests a slot that no other booking has. */
function book(process: Process, key: string): Promise<Response> {
  booked += 1;
  const hour = {
    startTime: inDays(10 + Math.floor(booked / BOOKED_PER_DAY)),
    startHour: 10 + (booked % BOOKED_PER_DAY),
  };
  return call(process, key, 'POST', '/bookings', { spaceId: 1, ...hour }, { 'idempotency-key': `request-${booked}` });
}

const statusesOf = (answers: readonly Response[]): Record<number, number> =>
  Object.fromEntries(
    Map.groupBy(answers, ({ status }) => status)
      .entries()
      .map(([status, { length }]) => [status, length]),
  );

/** Both processes serve the other account. */
async function expectOtherServed(): Promise<void> {
  for (const process of processes) {
    const answers = await Promise.all([
      book(process, other),
      call(process, other, 'GET', '/bookings?startDate=2026-01-01'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 200]);
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
  }
}

test('the limit of pending requests holds across both, and refused requests leave no idempotency records', async () => {
  const answers = await onBoth((process) => Promise.all(Array.from({ length: 20 }, () => book(process, greedy))));
  expect(statusesOf(answers.flat())).toEqual({ 201: PENDING_LIMIT, 422: 40 - PENDING_LIMIT });
  expect((await onBoth(countsOf)).map(({ claims }) => claims)).toEqual([PENDING_LIMIT, PENDING_LIMIT]);
});

test('an account that registers and deletes webhooks in a loop registers 30 a minute across both', async () => {
  const outcomes: Response[] = [];
  await onBoth(async (process) => {
    for (let i = 0; i < 20; i += 1) {
      const answer = await call(process, greedy, 'POST', '/webhooks', { url: 'https://receiver.example/', events: 1 });
      outcomes.push(answer);
      if (answer.status === 201)
        await call(process, greedy, 'DELETE', `/webhooks/${((await answer.json()) as { readonly id: string }).id}`);
    }
  });
  expect(statusesOf(outcomes)).toEqual({ 201: 30, 400: 10 });
  expect(outcomes.at(-1)?.headers.get('retry-after')).toMatch(/^\d+$/);
});

test('MCP calls run four at a time in each, without delaying the other account', async () => {
  const [first] = processes;
  const issued = await fetch(`${first?.url}/connect/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.clientId}:${client.clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'mcp', scope: 'service.mcp' }),
  });
  const { access_token: token } = (await issued.json()) as { readonly access_token: string };
  const given = new AbortController();
  const params = { name: 'find_open_days', arguments: { startDate: inDays(1), endDate: inDays(300) } };
  const search = ({ url }: Process) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      signal: given.signal,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    }).catch(() => undefined);
  const calls = processes.flatMap((process) => Array.from({ length: 20 }, () => search(process)));
  await eventually(async () => expect((await onBoth(countsOf)).map(({ searches }) => searches)).toEqual([4, 4]));
  await expectOtherServed();
  expect((await onBoth(countsOf)).map(({ searches }) => searches)).toEqual([4, 4]);
  given.abort();
  await Promise.all(calls);
});

test('each process produces two unread lists, and drops them once their connections close', async () => {
  // A refusal because of the limit of pending requests is fine here.
  await onBoth((process) => book(process, greedy));
  const before = await onBoth(countsOf);
  for (const { url } of processes)
    for (let i = 0; i < UNREAD; i += 1) {
      const { hostname, port } = new URL(url);
      const socket = connect(Number(port), hostname);
      sockets.push(socket);
      const request = `GET /api/v1/bookings HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${greedy}\r\n\r\n`;
      socket.pause().write(request.repeat(50));
    }
  await eventually(async () => expect((await onBoth(countsOf)).map(({ lists }) => lists)).toEqual([2, 2]));
  await expectOtherServed();
  const during = await onBoth(countsOf);
  expect(during.map(({ mostLists }) => mostLists)).toEqual([2, 2]);
  for (const [i, { memoryMiB }] of during.entries()) expect(memoryMiB - (before[i]?.memoryMiB ?? 0)).toBeLessThan(100);

  for (const socket of sockets) socket.destroy();
  await eventually(async () => {
    const after = await onBoth(countsOf);
    expect(after.map(({ lists }) => lists)).toEqual([0, 0]);
    for (const [i, { connections }] of after.entries())
      expect(connections).toBeLessThanOrEqual((during[i]?.connections ?? 0) - UNREAD);
  });
});
