import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket, type Server as TcpServer } from 'node:net';
import { type Server, ServerCredentials } from '@grpc/grpc-js';

/** A certificate and its key, PEM. */
export type Certificate = { readonly certificate: string; readonly key: string };

/**
 * A node of the test server: an address at which it can be reached, through a proxy that breaks and freezes connections. All
 * nodes of a cluster share their data.
 */
export class Node {
  readonly #grpc: Server;
  readonly #sockets = new Set<Socket>();
  #proxy: TcpServer | undefined;
  #backendPort = 0;
  #port = 0;
  #hangs = false;

  constructor(grpc: Server) {
    this.#grpc = grpc;
  }

  get port(): number {
    return this.#port;
  }

  async start(tls: Certificate | undefined): Promise<void> {
    const credentials =
      tls === undefined
        ? ServerCredentials.createInsecure()
        : ServerCredentials.createSsl(null, [
            { cert_chain: Buffer.from(tls.certificate), private_key: Buffer.from(tls.key) },
          ]);
    this.#backendPort = await new Promise<number>((resolve, reject) => {
      this.#grpc.bindAsync('127.0.0.1:0', credentials, (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
    await this.connect();
  }

  async stop(): Promise<void> {
    await this.disconnect();
    this.#grpc.forceShutdown();
  }

  get hangs(): boolean {
    return this.#hangs;
  }

  /** Accepts connections and keeps existing ones open, but reads and answers nothing, as a stopped process does. */
  hang(): void {
    this.#hangs = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** It then receives the data that was sent meanwhile. */
  resume(): void {
    this.#hangs = false;
    for (const socket of this.#sockets) socket.resume();
  }

  /** Cuts every connection, as a broken network does. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Cuts every connection and refuses new ones until `connect`. */
  async disconnect(): Promise<void> {
    const closed = new Promise((resolve) => this.#proxy?.close(resolve) ?? resolve(undefined));
    this.dropConnections();
    await closed;
    this.#proxy = undefined;
  }

  async connect(): Promise<void> {
    const proxy = createServer((front) => {
      const back = createConnection(this.#backendPort, '127.0.0.1');
      for (const [one, other] of [
        [front, back],
        [back, front],
      ] as const) {
        this.#sockets.add(one);
        one.setNoDelay(true);
        one.on('error', () => {});
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
        if (this.#hangs) one.pause();
      }
    });
    proxy.listen(this.#port, '127.0.0.1');
    await once(proxy, 'listening');
    this.#port = (proxy.address() as AddressInfo).port;
    this.#proxy = proxy;
  }

  /** The number of its connections. */
  get connections(): number {
    return this.#sockets.size / 2;
  }
}
