import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createEventStreams } from '../../src/console/live/event-stream.ts';
import type { Change, LiveFeed } from '../../src/console/live/live.ts';
import type { CurrentSession } from '../../src/console/sessions/sessions.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { brandId } from '../../src/domain/ids.ts';
import { eventually } from '../eventually.ts';

const account = { kind: 'Brand', id: brandId(1) } as const;
const startedAt = toTimestamp(Date.parse('2026-12-01T12:00:00Z'));
const current: CurrentSession = {
  hash: 'hash',
  session: {
    userId: 'ada',
    account,
    startedAt,
    lastUsedAt: startedAt,
    expiresAt: toTimestamp(Date.parse('2026-12-02T12:00:00Z')),
    browser: 'Firefox on Linux',
  },
  role: 'Manager',
  user: {
    id: 'ada',
    email: 'ada@example.com',
    memberships: [{ account, role: 'Manager' }],
    createdAt: startedAt,
    passwordChangedAt: startedAt,
  },
};

let app: FastifyInstance;
let listeners: Set<(change: Change) => void>;
let isActive: boolean;
let sequence: number;
let checks: number;
let subscribed: readonly string[];
let connects: number;

/** More than a page has. */
const TOPICS = Array.from({ length: 20 }, (_, index) => `hours:${index}`);

const isSessionActive = async () => {
  checks += 1;
  return isActive;
};
const announce = (...texts: readonly string[]) => {
  sequence += 1;
  const announcements = texts.map((text) => ({ text, by: text.startsWith('Own') ? 'ada' : 'bob', sequence }));
  for (const onChange of listeners) onChange({ sequence, topic: '', concerns: 'all', announcements });
};

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  listeners = new Set();
  isActive = true;
  sequence = 0;
  checks = 0;
  connects = 0;
  const feed: Pick<LiveFeed, 'notifiedMark' | 'subscribe'> = {
    notifiedMark: () => `p-${sequence}`,
    subscribe({ topics, onChange }) {
      subscribed = [...topics];
      listeners.add(onChange);
      return { caughtUp: true, stop: () => listeners.delete(onChange) };
    },
  };
  const streams = createEventStreams({ feed, sessions: { isActive: isSessionActive } });
  app = Fastify({ forceCloseConnections: 'idle' });
  app.addHook('preClose', async () => streams.endAll());
  app.addHook('onRequest', async (_request, reply) => void reply.header('x-content-type-options', 'nosniff'));
  app.get<{ Params: { session: string; id: number } }>('/live/:session/:id', async (request, reply) => {
    const { session: hash, id } = request.params;
    const session = { ...current.session, account: { kind: 'Brand', id: brandId(Number(id)) } } as const;
    const page = { topics: TOPICS, since: 'p-0' };
    return streams.connect(request, reply, { ...current, hash, session }, page);
  });
  app.addHook('onRequest', async () => {
    connects += 1;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await app.close();
  vi.useRealTimers();
});

/** Connects as a page does, but reads only on request. */
async function page(session = 'hash', brand = 1): Promise<{ socket: Socket; read(): () => string }> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  const before = connects;
  socket.write(`GET /live/${session}/${brand} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await eventually(() => expect(connects).toBe(before + 1));
  return {
    socket,
    read() {
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      return () => text;
    },
  };
}

test('a page receives its connection marker, later changes and heartbeats', async () => {
  const { read } = await page();
  const text = read();
  announce('New request');
  vi.advanceTimersByTime(20_000);
  await eventually(() => expect(text()).toContain(': still here'));
  expect(text()).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  // Set by a hook, as for every answer.
  expect(text()).toContain('x-content-type-options: nosniff\r\n');
  expect(text()).toContain('content-type: text/event-stream; charset=utf-8\r\n');
  expect(text()).toContain('cache-control: no-store\r\n');
  expect(text()).toContain('x-accel-buffering: no\r\n');
  expect(text()).toContain('retry: 2000\nid: p-0\n\n');
  expect(text()).toContain('id: p-1\ndata: {"topic":"","announcement":"New request"}\n\n');
});

test('pages of an ended session are disconnected within two seconds, with one session query for all', async () => {
  const text = (await page()).read();
  await page();
  vi.advanceTimersByTime(1_000);
  await eventually(() => expect(checks).toBe(1));
  expect(listeners.size).toBe(2);
  isActive = false;
  vi.advanceTimersByTime(1_000);
  await eventually(() => expect(listeners.size).toBe(0));
  // The last chunk of a complete response.
  await eventually(() => expect(text()).toMatch(/\r\n0\r\n\r\n$/));
  expect(vi.getTimerCount()).toBe(0);
});

test('a page that stops reading does not delay others, is disconnected, leaks nothing, and does not prevent shutdown', async () => {
  const warnings: string[] = [];
  const onWarning = (warning: Error) => warnings.push(warning.name);
  process.on('warning', onWarning);
  const idle = await page();
  idle.socket.pause();
  const reading = await page();
  let tail = '';
  reading.socket.on('data', (chunk) => {
    tail = `${tail}${chunk}`.slice(-25_000);
  });
  for (let n = 1; n <= 1_000; n += 1) {
    announce('x'.repeat(20_000));
    while (!tail.includes(`id: p-${n}\n`)) await nextTurn();
  }
  expect(listeners.size).toBe(1);
  await app.close();
  expect(listeners.size).toBe(0);
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

test('what others have changed is announced in one text, without what the reader has done', async () => {
  const text = (await page()).read();
  announce('Own approval', 'New request', 'Cancelled', 'Own decline', 'Approved');
  announce('Own approval');
  await eventually(() =>
    expect(text()).toContain(
      'data: {"topic":"","announcement":"New request, and 2 other changes"}\n\nid: p-2\ndata: {"topic":""}\n',
    ),
  );
});

test('a page is subscribed to few topics', async () => {
  await page();
  expect(subscribed).toEqual(['', ...TOPICS.slice(0, 10)]);
});

test('a seventh stream of a session ends the first one, which connects again later', async () => {
  const first = (await page()).read();
  for (let more = 0; more < 5; more += 1) await page();
  expect(listeners.size).toBe(6);
  const newest = await page();
  expect(listeners.size).toBe(6);
  await eventually(() => expect(first()).toMatch(/retry: 30000\n\n\r\n0\r\n\r\n$/));
  const text = newest.read();
  announce('New request');
  await eventually(() => expect(text()).toContain('New request'));
});

test('an account has sixty streams, and another one does not notice', async () => {
  for (let session = 0; session < 10; session += 1) for (let of = 0; of < 6; of += 1) await page(`session-${session}`);
  expect(listeners.size).toBe(60);
  const refused = (await page('another')).read();
  await eventually(() => expect(refused()).toMatch(/^HTTP\/1.1 429 /));
  expect(listeners.size).toBe(60);
  await page('theirs', 2);
  expect(listeners.size).toBe(61);
  // A session with its six still moves on to a newer one.
  await page('session-3');
  expect(listeners.size).toBe(61);
});
