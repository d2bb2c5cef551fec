import { type AddressInfo, createServer, type Socket } from 'node:net';
import { parentPort } from 'node:worker_threads';

/** A receiver on a separate thread that accepts connections and never answers. */
const sockets = new Set<Socket>();
let accepted = 0;
const server = createServer((socket) => {
  accepted += 1;
  sockets.add(socket);
  socket.on('error', () => {});
  socket.on('close', () => sockets.delete(socket));
  socket.resume();
});
server.listen(0, '127.0.0.1', () => parentPort?.postMessage((server.address() as AddressInfo).port));

parentPort?.on('message', (message: 'accepted' | 'close') => {
  if (message === 'accepted') {
    parentPort?.postMessage(accepted);
    return;
  }
  for (const socket of sockets) socket.destroy();
  server.close();
  parentPort?.close();
});
