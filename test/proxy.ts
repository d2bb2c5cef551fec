import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { atPort, hostOf, tlsOf } from './document-store/mongodb/server-url.ts';

/** What a proxy is about to do: accept a connection, or pass on what the client or the server sent. */
export type Passing = 'connection' | 'request' | 'answer';

export type Proxy = {
  readonly port: number;
  /** Cuts all connections. */
  cut(): void;
  /** Stands still, as a process that was sent SIGSTOP: connections are accepted and stay open, and nothing passes. */
  stop(): void;
  /** Goes on, with what has been sent meanwhile, as after SIGCONT. */
  go(): void;
  close(): void;
};

/**
 * Says whether to cut a connection instead of passing on what arrived: without a byte of it, or after the first half; or for how many
 * milliseconds to hold it back.
 * @param connection counts the connections
 */
export type Drops = (passing: Passing, chunk: Buffer, connection: number) => boolean | 'half' | number;

/**
 * A proxy to a server, for tests that read or break connections.
 * @param target.tls for a server with TLS; the connections to the proxy are without it
 */
export async function startProxy(
  target: { readonly port: number; readonly hostname: string; readonly tls?: ConnectionOptions | undefined },
  drops: Drops = () => false,
): Promise<Proxy> {
  const sockets = new Set<Socket>();
  let stopped = false;
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const connection = connections;
    if (drops('connection', Buffer.alloc(0), connection)) return client.resetAndDestroy();
    const { port, hostname: host, tls } = target;
    const backend = tls === undefined ? connect(port, host) : connectTls({ ...tls, port, host });
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
        const dropped = drops(passing, chunk, connection);
        if (dropped === false) return void to.write(chunk);
        if (typeof dropped === 'number') return void setTimeout(() => to.write(chunk), dropped);
        if (dropped === true) from.destroy();
        else to.end(chunk.subarray(0, chunk.length / 2), () => from.destroy());
      });
      if (stopped) from.pause();
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
    stop() {
      stopped = true;
      for (const socket of sockets) socket.pause();
    },
    go() {
      stopped = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      cut();
      server.close();
    },
  };
}

/** A proxy to the server that a URL names, and the URL that names the proxy instead, with the same credentials and options. */
export async function startProxyTo(url: string, drops?: Drops): Promise<Proxy & { readonly url: string }> {
  if (url.startsWith('mongodb')) {
    const proxy = await startProxy({ ...hostOf(url), tls: tlsOf(url) }, drops);
    return { ...proxy, url: atPort(url, proxy.port) };
  }
  const through = new URL(url);
  const proxy = await startProxy({ hostname: through.hostname, port: Number(through.port) }, drops);
  through.hostname = '127.0.0.1';
  through.port = String(proxy.port);
  return { ...proxy, url: through.href };
}
