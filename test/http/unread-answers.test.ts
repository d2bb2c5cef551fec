import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { closeUnread } from '../../src/http/unread-answers.ts';
import { eventually } from '../eventually.ts';

let server: Server;
let areOthersWaiting: boolean;
let now: number;
let answer: RequestListener;
const sockets: Socket[] = [];

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  areOthersWaiting = false;
  server = createServer((request, response) => answer(request, response));
  closeUnread(server, { areOthersWaiting: () => areOthersWaiting });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  vi.useRealTimers();
  vi.restoreAllMocks();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Lets time pass, in steps between which data moves. */
async function pass(seconds: number, meanwhile: () => void = () => {}): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    now += 1_000;
    vi.advanceTimersByTime(1_000);
    meanwhile();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A connection that asks once and reads nothing. */
async function ask(): Promise<{ readonly socket: Socket; readonly onServer: Socket }> {
  const accepted = once(server, 'connection');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  socket.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const [onServer] = await accepted;
  return { socket, onServer };
}

const CHUNK = Buffer.alloc(64 * 1024);
/** More than any socket buffers. */
const WHOLE = Buffer.alloc(32 * 1024 * 1024);

const endless: RequestListener = (_request, response) => {
  const write = () => {
    while (response.write(CHUNK));
  };
  response.on('drain', write);
  write();
};
const inOneWrite: RequestListener = (_request, response) => void response.end(WHOLE);

test.each([
  ['endless', endless],
  ['written at once', inOneWrite],
])('a connection whose answer is %s and not read is closed after 20 s, and not earlier', async (_, listener) => {
  answer = listener;
  const { onServer } = await ask();
  await eventually(() => expect(onServer.writableLength).toBeGreaterThan(0));
  await pass(3);
  await pass(16);
  expect(onServer.destroyed).toBe(false);
  await pass(5);
  expect(onServer.destroyed).toBe(true);
});

test('what the client sends meanwhile makes no difference', async () => {
  answer = endless;
  const { socket, onServer } = await ask();
  await eventually(() => expect(onServer.writableLength).toBeGreaterThan(0));
  await pass(25, () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
  expect(onServer.destroyed).toBe(true);
});

test.each([
  ['endless', endless],
  ['written at once', inOneWrite],
])('a client that reads slowly of an answer that is %s is not disconnected', async (_, listener) => {
  answer = listener;
  const { socket, onServer } = await ask();
  await eventually(() => expect(onServer.writableLength).toBeGreaterThan(0));
  for (let times = 0; times < 4; times += 1) {
    await pass(15);
    const before = onServer.bytesWritten;
    // As much as makes the network take more of it.
    for (let read = 0; read < 4 * 1024 * 1024; ) read += (socket.read() as Buffer | null)?.length ?? (await turn());
    expect(before).toBeGreaterThan(0);
  }
  await pass(10);
  expect(onServer.destroyed).toBe(false);
});
const turn = async () => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  return 0;
};

test('while other answers wait, a connection is closed after 5 s', async () => {
  answer = endless;
  const { onServer } = await ask();
  await eventually(() => expect(onServer.writableLength).toBeGreaterThan(0));
  await pass(3);
  areOthersWaiting = true;
  await pass(1);
  expect(onServer.destroyed).toBe(false);
  await pass(5);
  expect(onServer.destroyed).toBe(true);
});

test('… and while more than 64 MiB are not read, of all connections', async () => {
  answer = inOneWrite;
  const asked = [await ask(), await ask(), await ask()];
  for (const { onServer } of asked) await eventually(() => expect(onServer.writableLength).toBeGreaterThan(0));
  await pass(10);
  expect(asked.map(({ onServer }) => onServer.destroyed)).toEqual([true, true, true]);
});

test('a connection without an answer in flight stays open', async () => {
  answer = (_request, response) => void response.end('read');
  const { socket, onServer } = await ask();
  socket.resume();
  await once(socket, 'data');
  await pass(60);
  expect(onServer.destroyed).toBe(false);
});
