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
  session: { userId: 'ada', account, startedAt, expiresAt: toTimestamp(Date.parse('2026-12-02T12:00:00Z')) },
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
const isSessionActive = async () => {
  checks += 1;
  return isActive;
};
const announce = (announcement: string) => {
  sequence += 1;
  for (const onChange of listeners) onChange({ sequence, topic: '', announcement });
};

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  listeners = new Set();
  isActive = true;
  sequence = 0;
  checks = 0;
  const feed: Pick<LiveFeed, 'markAt' | 'subscribe'> = {
    markAt: (change) => `p-${change.sequence}`,
    subscribe({ onChange }) {
      listeners.add(onChange);
      return { caughtUp: true, stop: () => listeners.delete(onChange) };
    },
  };
  const streams = createEventStreams({ feed, sessions: { isActive: isSessionActive } });
  app = Fastify({ forceCloseConnections: 'idle' });
  app.addHook('preClose', async () => streams.endAll());
  app.addHook('onRequest', async (_request, reply) => void reply.header('x-content-type-options', 'nosniff'));
  app.get('/live', async (request, reply) => {
    streams.connect(request, reply, current, { since: 'p-0', now: `p-${sequence}` });
    return reply;
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  await app.close();
  vi.useRealTimers();
});

/** Connects as a page does, but reads only on request. */
async function page(): Promise<{ socket: Socket; read(): () => string }> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  const before = listeners.size;
  socket.write('GET /live HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => expect(listeners.size).toBe(before + 1));
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
