import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parentPort } from 'node:worker_threads';
import type { Arrival } from './receiver.ts';

// A receiver in a thread of its own. It always responds with 200. It posts its port, and then what has arrived.
let arrivals: Arrival[] = [];

function post(): void {
  parentPort?.postMessage(arrivals);
  arrivals = [];
}

const server = createServer(async (request, response) => {
  const at = performance.timeOrigin + performance.now();
  const body = await text(request);
  response.end();
  const [, timestamp = ''] = /"timestamp":"([^"]+)"/.exec(body) ?? [];
  if (arrivals.push({ at, eventAt: Date.parse(timestamp) }) === 1) setImmediate(post);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port));
