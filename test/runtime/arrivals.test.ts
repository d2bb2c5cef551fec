import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { noteArrivals, requestBatch } from '../../src/runtime/arrivals.ts';

const batches: (number | undefined)[] = [];
afterEach(() => void batches.splice(0));

/** Three connections to a server that answers with the batch of each request. */
async function open() {
  const server = createServer((_request, response) => {
    batches.push(requestBatch());
    response.end('x');
  });
  noteArrivals(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const sockets = [1, 2, 3].map(() => connect(port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
  const ask = async (some = sockets) => {
    const answers = some.map((socket) => once(socket, 'data'));
    for (const socket of some) socket.write('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
    await Promise.all(answers);
  };
  // By now the server has accepted all of them.
  await ask();
  batches.splice(0);
  return { sockets, ask };
}

it('gives the requests that arrived together one batch, and those of a client that has heard an answer another', async () => {
  const { sockets, ask } = await open();
  await ask();
  const [first] = batches;
  expect(first).toBeTypeOf('number');
  expect(batches).toEqual([first, first, first]);
  await ask(sockets.slice(0, 1));
  await ask(sockets.slice(1, 2));
  expect(new Set(batches).size).toBe(3);
});

it('has no batch for what no request asks for', async () => {
  const { ask } = await open();
  expect(requestBatch()).toBeUndefined();
  await ask();
  await new Promise(setImmediate);
  expect(requestBatch()).toBeUndefined();
});
