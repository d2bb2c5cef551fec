import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A request as received. */
type Received = {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
};
export type Answer = (received: Received, response: ServerResponse, request: IncomingMessage) => void;

export type Receiver = {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
  /** The response handler; can be replaced. */
  answer: Answer;
  /** The number of connections so far. */
  connections(): number;
  /** Resolves once it has received this many requests. */
  until(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
};

export const answering =
  (status: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (_, response) => {
    response.writeHead(status, headers).end(body);
  };

const file = (name: string) => readFileSync(new URL(`tls/${name}`, import.meta.url));
/** Self-signed, for receiver.test, localhost and 127.0.0.1; made for these tests only. */
export const certificate = file('receiver.crt');

/** A real HTTP(S) server on loopback. Responds with 200 by default. */
export async function startReceiver(
  answer: Answer = answering(200),
  { tls = false }: { readonly tls?: boolean } = {},
): Promise<Receiver> {
  const received: Received[] = [];
  const waiting = new Set<() => void>();
  let connections = 0;
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const { method, url: path, headers } = request;
      const one = { method, path, headers, body: Buffer.concat(chunks).toString(), at: Date.now() };
      received.push(one);
      receiver.answer(one, response, request);
      for (const check of waiting) check();
    });
  };
  const server = tls ? createTlsServer({ cert: certificate, key: file('receiver.key') }, handle) : createServer(handle);
  server.on(tls ? 'secureConnection' : 'connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  const receiver: Receiver = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}/hook?from=venue`,
    port,
    received,
    answer,
    connections: () => connections,
    until: (count) =>
      new Promise((resolve) => {
        const check = () => {
          if (received.length < count) return;
          waiting.delete(check);
          resolve(received);
        };
        waiting.add(check);
        check();
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
