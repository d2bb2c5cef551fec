import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createSender, type SenderOptions } from '../../src/webhooks/send/http-sender.ts';
import { isSuccess } from '../../src/webhooks/send/sender.ts';
import { type Answer, answering, certificate, type Receiver, startReceiver } from './receiver.ts';

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of closing.splice(0)) await one.close();
});
const keep = <T extends { close(): Promise<void> }>(one: T): T => {
  closing.push(one);
  return one;
};
const receive = async (answer?: Answer, options?: { readonly tls?: boolean }): Promise<Receiver> =>
  keep(await startReceiver(answer, options));
const sender = (options: Partial<SenderOptions> = {}) => keep(createSender({ allowPrivate: true, ...options }));
const post = (url: string) => ({
  url,
  headers: { 'content-type': 'application/json', 'webhook-id': 'm1' },
  body: '{"ü":1}',
});

/** A server that sends raw bytes. */
async function rawServer(onConnect: (write: (text: string) => void, end: () => void) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () =>
      onConnect(
        (text) => socket.write(text),
        () => socket.destroy(),
      ),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  keep({ close: async () => void server.close() });
  return `http://127.0.0.1:${address.port}/`;
}

test('a POST arrives unchanged, and the response is recorded', async () => {
  const receiver = await receive(answering(202, {}, 'queued'));
  const result = await sender().post(post(receiver.url));
  expect(result).toMatchObject({ status: 202, answer: 'queued', address: '127.0.0.1' });
  expect(isSuccess(result)).toBe(true);
  expect(receiver.received).toMatchObject([
    {
      method: 'POST',
      path: '/hook?from=venue',
      body: '{"ü":1}',
      headers: { 'webhook-id': 'm1', 'user-agent': 'Venue-Booking-Webhooks/1.0', 'content-type': 'application/json' },
    },
  ]);
});

test('a character that is split between two chunks of the answer is whole, and one that is cut off is left out', async () => {
  const receiver = await receive((_, response) => {
    response.write(Buffer.from([0x47, 0xc3]));
    setTimeout(() => response.end(Buffer.concat([Buffer.from([0xbc]), Buffer.from('ü'.repeat(1_000))])), 50);
  });
  const { answer } = await sender().post(post(receiver.url));
  expect(answer).toBe(`G${'ü'.repeat(511)}`);
});

test('sequential posts share a connection', async () => {
  const receiver = await receive();
  const { post: send } = sender();
  for (let i = 0; i < 5; i++)
    expect(await send(post(receiver.url))).toMatchObject({ status: 200, address: '127.0.0.1' });
  expect(receiver.connections()).toBe(1);
});

test.each([199, 301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503])('%i is not a success', (status) => {
  expect(isSuccess({ status, duration: 1, answer: '' })).toBe(false);
});

test('a redirect is not followed', async () => {
  const elsewhere = await receive();
  const receiver = await receive(answering(307, { location: elsewhere.url }));
  const result = await sender().post(post(receiver.url));
  expect(result.status).toBe(307);
  expect(isSuccess(result)).toBe(false);
  expect(elsewhere.received).toHaveLength(0);
});

test('Retry-After is part of the result', async () => {
  const receiver = await receive(answering(503, { 'retry-after': '120' }));
  expect(await sender().post(post(receiver.url))).toMatchObject({ status: 503, retryAfter: '120' });
});

test('early hints are not mistaken for the response', async () => {
  const url = await rawServer((write) =>
    write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n'),
  );
  expect(await sender().post(post(url))).toMatchObject({ status: 500 });
});

test('no response within the deadline is a Timeout', async () => {
  const receiver = await receive(() => {});
  expect(await sender({ deadlineMs: 80 }).post(post(receiver.url))).toMatchObject({ error: { type: 'Timeout' } });
});

test('a body that trickles past the deadline is a Timeout, even after an immediate 200', async () => {
  const receiver = await receive((_, response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write('.'), 10);
    response.on('close', () => clearInterval(drip));
  });
  const result = await sender({ deadlineMs: 120 }).post(post(receiver.url));
  expect(result).toMatchObject({ error: { type: 'Timeout' } });
  expect(result).not.toHaveProperty('status');
});

test('headers that trickle past the deadline are a Timeout', async () => {
  const url = await rawServer((write) => {
    write('HTTP/1.1 200 OK\r\n');
    const drip = setInterval(() => write('x-a: b\r\n'), 10);
    closing.push({ close: async () => clearInterval(drip) });
  });
  expect(await sender({ deadlineMs: 120 }).post(post(url))).toMatchObject({ error: { type: 'Timeout' } });
});

test('name resolution counts against the same deadline', async () => {
  const { post: send } = sender({ deadlineMs: 80, resolve: () => new Promise(() => {}) });
  expect(await send(post('http://slow-dns.example/'))).toMatchObject({ error: { type: 'Timeout' } });
});

test('an endless response is read up to little more than 16 KiB, and 1 KiB is kept', async () => {
  let sent = 0;
  let closed: () => void = () => {};
  const gone = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const receiver = await receive((_, response) => {
    response.on('close', closed);
    const chunk = 'x'.repeat(64 * 1_024);
    const pump = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.on('drain', pump);
    pump();
  });
  const result = await sender().post(post(receiver.url));
  await gone;
  expect(result.status).toBe(200);
  expect(result.answer).toBe('x'.repeat(1_024));
  // The capacity of two socket buffers, far less than an unbounded reader would have read in five seconds.
  expect(sent).toBeLessThan(64 * 1_024 * 1_024);
});

test('a refused connection is Refused', async () => {
  const receiver = await startReceiver();
  await receiver.close();
  expect(await sender().post(post(receiver.url))).toMatchObject({
    error: { type: 'Refused' },
    address: '127.0.0.1',
    answer: '',
  });
});

test('a connection closed without a response is Connection', async () => {
  const url = await rawServer((_, end) => end());
  expect(await sender().post(post(url))).toMatchObject({ error: { type: 'Connection' } });
});

test('a response that is not HTTP is Protocol', async () => {
  const url = await rawServer((write) => write('220 smtp.example ESMTP\r\n'));
  expect(await sender().post(post(url))).toMatchObject({ error: { type: 'Protocol' } });
});

test('headers of unbounded size are Protocol', async () => {
  const url = await rawServer((write) => write(`HTTP/1.1 200 OK\r\nx-a: ${'b'.repeat(200_000)}\r\n\r\n`));
  expect(await sender().post(post(url))).toMatchObject({ error: { type: 'Protocol' } });
});

test('a name that does not resolve is Dns', async () => {
  const { post: send } = sender({ resolve: () => Promise.reject(new Error('ENOTFOUND')) });
  expect(await send(post('http://nowhere.example/'))).toMatchObject({ error: { type: 'Dns' } });
});

test('a name that resolves to a private address is Forbidden, and only the operator learns that address', async () => {
  const logged: object[] = [];
  const { post: send } = sender({
    allowPrivate: false,
    resolve: async () => [{ address: '10.20.30.40', family: 4 }],
    onForbidden: (refused) => logged.push(refused),
  });
  const result = await send(post('https://rebind.example/'));
  expect(result.error).toEqual({ type: 'Forbidden', message: 'rebind.example has an address that is not public' });
  expect(JSON.stringify(result)).not.toContain('10.20.30.40');
  expect(logged).toEqual([{ hostname: 'rebind.example', address: '10.20.30.40' }]);
});

test('an untrusted certificate is Tls', async () => {
  const receiver = await receive(undefined, { tls: true });
  expect(await sender().post(post(receiver.url))).toMatchObject({ error: { type: 'Tls' } });
  expect(receiver.received).toHaveLength(0);
});

test('a certificate for another name is Tls', async () => {
  const receiver = await receive(undefined, { tls: true });
  const { post: send } = sender({
    tls: { ca: certificate },
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
  });
  expect(await send(post(`https://other.test:${receiver.port}/`))).toMatchObject({ error: { type: 'Tls' } });
});

test('https to a plain HTTP server is Tls', async () => {
  const receiver = await receive();
  expect(await sender().post(post(`https://127.0.0.1:${receiver.port}/`))).toMatchObject({ error: { type: 'Tls' } });
});

test('a trusted certificate is accepted for its name', async () => {
  const receiver = await receive(undefined, { tls: true });
  const { post: send } = sender({
    tls: { ca: certificate },
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
  });
  expect(await send(post(`https://receiver.test:${receiver.port}/hook`))).toMatchObject({ status: 200 });
  expect(receiver.received[0]?.headers.host).toBe(`receiver.test:${receiver.port}`);
});

test('a connection uses a single DNS resolution, even if a second one would differ', async () => {
  const receiver = await receive();
  let resolutions = 0;
  const { post: send } = sender({
    resolve: async () => {
      resolutions += 1;
      return [{ address: resolutions === 1 ? '127.0.0.1' : '10.0.0.8', family: 4 }];
    },
  });
  for (let i = 0; i < 3; i++)
    expect(await send(post(`http://a.example:${receiver.port}/`))).toMatchObject({ status: 200 });
  expect(resolutions).toBe(1);
});

test('closing aborts requests in flight and gives the reason', async () => {
  const receiver = await receive(() => {});
  const stopping = createSender({ allowPrivate: true });
  const result = stopping.post(post(receiver.url));
  await receiver.until(1);
  await stopping.close();
  expect(await result).toMatchObject({ error: { type: 'Connection', message: 'The service is stopping' } });
});
