import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { MongoServerError, MongoServerSelectionError, type TopologyDescription } from 'mongodb';
import { expect, it } from 'vitest';
import { isServerUnavailable, isTransient, unavailable } from '../../../src/document-store/mongodb/failures.ts';
import { Unavailable } from '../../../src/runtime/unavailable.ts';

const coded = (code: string, message = code) => Object.assign(new Error(message), { code });

it('retries Node.js socket errors, which the driver passes on unchanged', async () => {
  for (const code of ['EPIPE', 'ECONNRESET', 'ETIMEDOUT', 'EHOSTUNREACH', 'ERR_STREAM_DESTROYED', 'ERR_SOCKET_CLOSED'])
    expect([code, isTransient(coded(code))]).toEqual([code, true]);
  // A real error from Node.js.
  const server = createServer((socket) => socket.end());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('No port');
  const socket = connect({ port: address.port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket.resume(), 'end');
  socket.end();
  const failed = once(socket, 'error');
  socket.write('x');
  const [error] = await failed;
  expect(error).toHaveProperty('code', expect.stringMatching(/^(EPIPE|ERR_STREAM_WRITE_AFTER_END)$/));
  expect(isTransient(error)).toBe(true);
  server.close();
});

it('does not retry a permanent error, and rethrows it unchanged', () => {
  for (const error of [
    coded('ENOENT'),
    new TypeError('undefined is not a function'),
    new MongoServerError({ code: 26, message: 'ns not found' }),
  ]) {
    expect(isTransient(error)).toBe(false);
    expect(() => unavailable(error)).toThrow(error);
  }
});

it('treats a failed server selection as unavailable, without an immediate retry', () => {
  const error = new MongoServerSelectionError('none', { servers: new Map() } as unknown as TopologyDescription);
  expect([isTransient(error), isServerUnavailable(error)]).toEqual([false, true]);
  expect(() => unavailable(error)).toThrow(Unavailable);
});
