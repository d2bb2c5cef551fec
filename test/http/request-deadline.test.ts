import { once } from 'node:events';
import { connect } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { handleError } from '../../src/api/errors.ts';
import { answerInTime } from '../../src/http/request-deadline.ts';
import { eventually } from '../eventually.ts';

let app: FastifyInstance;
let done: string[];
let log: string[];
/** Handlers hang until a test resolves this. */
let standing: PromiseWithResolvers<void>;

beforeEach(async () => {
  done = [];
  log = [];
  standing = Promise.withResolvers();
  app = Fastify({ logger: { level: 'warn', stream: { write: (line) => log.push(line) } } });
  app.setErrorHandler(handleError);
  answerInTime(app, { withinMs: 100 });
  await app.register(async (scope) => {
    scope.addHook('onRequest', async (request) => {
      if (request.headers.authorization === 'slow') await standing.promise;
    });
    const handler = (what: string) => async () => {
      done.push(`${what} begun`);
      await standing.promise;
      done.push(`${what} ended`);
      return { what };
    };
    scope.get('/read', handler('read'));
    scope.post('/write', handler('write'));
    scope.get('/at-once', async () => ({ what: 'at once' }));
    scope.post('/echo', async ({ body }) => body);
  });
});
afterEach(async () => {
  standing.resolve();
  await app.close();
});

const details = (text: string) => ({ error: 'InternalError', details: expect.stringMatching(text) });

test('a stalled read is answered with an error that says that retrying is safe', async () => {
  const answer = await app.inject('/read');
  expect([answer.statusCode, answer.headers['retry-after'], answer.json()]).toEqual([
    500,
    '2',
    details(String.raw`^The service did not answer in time \(request \S+\)\. Retrying is safe\.$`),
  ]);
});

test('a stalled write is answered with an unknown outcome, and with what to do next', async () => {
  expect((await app.inject({ method: 'POST', url: '/write' })).json()).toEqual(
    details('whether this was done is not known .* Look whether it was done before you send the request again'),
  );
  const headers = { 'idempotency-key': 'k' };
  expect((await app.inject({ method: 'POST', url: '/write', headers })).json()).toEqual(
    details('whether this was done is not known .* the same Idempotency-Key again is safe'),
  );
  // It resumes, and its late answer has no effect.
  standing.resolve();
  await eventually(() => expect(done).toEqual(['write begun', 'write begun', 'write ended', 'write ended']));
  expect((await app.inject('/at-once')).json()).toEqual({ what: 'at once' });
  expect(log.filter((line) => line.includes('already sent'))).toEqual([]);
});

test('a write that had not started by the deadline never starts, and its answer does not report an unknown outcome', async () => {
  const headers = { authorization: 'slow' };
  const answer = await app.inject({ method: 'POST', url: '/write', headers });
  expect(answer.json()).toEqual(details('^The service did not answer in time .* Retrying is safe'));
  standing.resolve();
  await app.inject('/at-once');
  expect(done).toEqual([]);
});

test('a client that sends a request slowly is not cut off', async () => {
  await app.listen({ port: 0, host: '127.0.0.1' });
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('No port');
  const socket = connect(address.port, '127.0.0.1');
  let answered = '';
  socket.on('data', (chunk) => {
    answered += chunk;
  });
  const head =
    'POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 7';
  socket.write(`${head}\r\n\r\n{"a"`);
  setTimeout(() => socket.write(':1}'), 300);
  await once(socket, 'close');
  expect(answered).toMatch(/^HTTP\/1\.1 200 OK.*\{"a":1\}$/s);
});
