import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { areStreamsWaiting, CHUNK, sendChunks } from '../../src/http/send-chunks.ts';
import { eventually } from '../eventually.ts';

/** As many as are sent at once. */
const STREAMS_AT_ONCE = 64;

let app: FastifyInstance;
/** Answers that have begun to read what they send, and those that were ended. */
let begun: number;
let ended: number;
const sockets: Socket[] = [];

beforeEach(async () => {
  [begun, ended] = [0, 0];
  app = Fastify({ forceCloseConnections: true });
  async function* endless(): AsyncGenerator<Buffer> {
    begun += 1;
    try {
      for (;;) yield Buffer.alloc(CHUNK);
    } finally {
      ended += 1;
    }
  }
  app.get('/', (_request, reply) => sendChunks(reply, endless(), () => {}));
  await app.listen({ host: '127.0.0.1', port: 0 });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await app.close();
});

/** Asks for an answer without reading it. */
async function ask(): Promise<Socket> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {});
  sockets.push(socket);
  await once(socket, 'connect');
  socket.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return socket;
}

test('64 answers are streamed at once, however many accounts ask; further ones read nothing until their turn', async () => {
  const asked = await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, ask));
  await eventually(() => expect(begun).toBe(STREAMS_AT_ONCE));
  expect(areStreamsWaiting()).toBe(false);
  const [first, second] = [await ask(), await ask()];
  await eventually(() => expect(areStreamsWaiting()).toBe(true));
  expect(begun).toBe(STREAMS_AT_ONCE);

  // One that goes away before its turn reads nothing at all.
  first.destroy();
  asked[0]?.destroy();
  second.resume();
  await once(second, 'data');
  expect(begun).toBe(STREAMS_AT_ONCE + 1);
  await eventually(() => expect(ended).toBe(1));
  expect(areStreamsWaiting()).toBe(false);
  for (const socket of sockets) socket.destroy();
  await eventually(() => expect(ended).toBe(begun));
});
