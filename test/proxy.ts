import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What a proxy is about to do: accept a connection, or pass on what the client or the server sent. */
export type Passing = 'connection' | 'request' | 'answer';

export type Proxy = {
  readonly port: number;
  /** Cuts all connections. */
  cut(): void;
  close(): void;
};

/** A proxy to a server, for tests that break connections. `drops` says whether to cut the connection instead of passing on. */
export async function startProxy(
  target: { readonly port: number; readonly hostname: string },
  drops: (passing: Passing, chunk: Buffer) => boolean = () => false,
): Promise<Proxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (drops('connection', Buffer.alloc(0))) return client.resetAndDestroy();
    const backend = connect(target.port, target.hostname);
    for (const [from, to, passing] of [
      [client, backend, 'request'],
      [backend, client, 'answer'],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('data', (chunk: Buffer) => {
        if (!drops(passing, chunk)) return void to.write(chunk);
        client.destroy();
        backend.destroy();
      });
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
    close() {
      cut();
      server.close();
    },
  };
}
