import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { openMongoDocumentStore } from '../../../src/document-store/mongodb/document-store.ts';
import { ask } from '../ask.ts';
import { mongoServer } from '../engines.ts';

/** A way to the server that can be cut. */
async function cuttable(port: number, host: string) {
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

describe.skipIf('why' in mongoServer)('MongoDB document store', () => {
  it('goes on when its connections are cut: reads and projections are tried again', async () => {
    if ('why' in mongoServer) return;
    const { hostname, port } = new URL(mongoServer.url);
    const way = await cuttable(Number(port), hostname);
    const warn = vi.fn();
    const url = `mongodb://127.0.0.1:${way.port}/?directConnection=true`;
    const store = await openMongoDocumentStore({ url, database: `test-${randomUUID()}`, logger: { warn } });
    try {
      const documents = await store.open<{ n: number }>({
        name: 'numbers',
        kind: 'readModel',
        indexes: [{ fields: ['n'] }],
      });
      for (let n = 1; n <= 40; n++) {
        const project = documents.project([{ key: 'a', position: String(n).padStart(3, '0'), document: { n } }]);
        if (n % 8 === 0) way.cut();
        await project;
        if (n % 8 === 4) way.cut();
        expect((await documents.get('a'))?.document.n).toBe(n);
        expect(await documents.count(ask({ where: { n } }))).toBe(1);
      }
      expect(warn).toHaveBeenCalled();
    } finally {
      await store.close();
      way.close();
    }
  });
});
