import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { openMongoDocumentStore } from '../../../src/document-store/mongodb/document-store.ts';
import { ask } from '../ask.ts';
import { mongoServer } from '../engines.ts';

/** A proxy to the server whose connections can be cut. */
async function startProxy(port: number, host: string) {
  const sockets = new Set<Socket>();
  const server = createServer((from) => {
    const to = connect(port, host);
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: () => {
      cut();
      server.close();
    },
  };
}

describe.skipIf('missing' in mongoServer)('MongoDB document store', () => {
  it('retries reads and projections when its connections are cut', async () => {
    if ('missing' in mongoServer) return;
    const { hostname, port } = new URL(mongoServer.url);
    const proxy = await startProxy(Number(port), hostname);
    const warn = vi.fn();
    // Otherwise the driver looks for a server that it has lost twice a second only.
    const url = `mongodb://127.0.0.1:${proxy.port}/?directConnection=true&minHeartbeatFrequencyMS=20`;
    const store = await openMongoDocumentStore({ url, database: `test-${randomUUID()}`, logger: { warn } });
    try {
      const documents = await store.open<{ n: number }>({
        name: 'numbers',
        kind: 'readModel',
        indexes: [{ fields: ['n'] }],
      });
      for (let n = 1; n <= 40; n++) {
        const project = documents.project([{ key: 'a', position: String(n).padStart(3, '0'), document: { n } }]);
        if (n % 8 === 0) proxy.cut();
        await project;
        if (n % 8 === 4) proxy.cut();
        expect((await documents.get('a'))?.document.n).toBe(n);
        expect(await documents.count(ask({ where: { n } }))).toBe(1);
      }
      expect(warn).toHaveBeenCalled();
    } finally {
      await store.close();
      proxy.close();
    }
  });
});
