import { once } from 'node:events';
import { createServer } from 'node:net';
import { parentPort } from 'node:worker_threads';

// A mail server in a thread of its own, which accepts every mail at once. It posts its port, and then when mails have arrived.
let arrivals: number[] = [];

function post(): void {
  parentPort?.postMessage(arrivals);
  arrivals = [];
}

const server = createServer((socket) => {
  let rest = '';
  let isData = false;
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\r\n');
    rest = lines.pop() ?? '';
    for (const line of lines) answer(line);
  });
  socket.on('error', () => {});
  socket.write('220 bench ESMTP\r\n');

  function answer(line: string): void {
    if (isData && line !== '.') return;
    if (isData && arrivals.push(performance.timeOrigin + performance.now()) === 1) setImmediate(post);
    isData = /^DATA$/i.test(line);
    if (/^QUIT$/i.test(line)) socket.end('221 Bye\r\n');
    else socket.write(isData ? '354 Go on\r\n' : '250 Done\r\n');
  }
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const address = server.address();
parentPort?.postMessage(typeof address === 'object' ? address?.port : undefined);
