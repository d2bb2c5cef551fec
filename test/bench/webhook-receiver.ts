import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** A receiver on a separate thread, so that it takes no time from the sender that is measured. Always responds with 200. */
let arrivals: number[] = [];
const server = createServer((request, response) => {
  arrivals.push(performance.timeOrigin + performance.now());
  request.resume();
  request.on('end', () => response.end());
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port));

parentPort?.on('message', (message: 'arrivals' | 'close') => {
  if (message === 'close') {
    server.closeAllConnections();
    server.close();
    parentPort?.close();
  } else {
    parentPort?.postMessage(arrivals);
    arrivals = [];
  }
});
