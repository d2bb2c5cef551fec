import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** A request as the receiver saw it. */
type Received = {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Of the receiver's machine, in milliseconds. */
  readonly at: number;
};
export type Answer = (received: Received, response: ServerResponse, request: IncomingMessage) => void;

export type Receiver = {
  readonly url: string;
  readonly port: number;
  readonly received: readonly Received[];
  /** Replaces what it answers. */
  answer: Answer;
  /** Connections made so far. */
  connections(): number;
  /** Resolves once it has had so many requests. */
  until(count: number): Promise<readonly Received[]>;
  close(): Promise<void>;
};

export const answering =
  (status: number, headers: Record<string, string> = {}, body = ''): Answer =>
  (_, response) => {
    response.writeHead(status, headers).end(body);
  };

const file = (name: string) => readFileSync(new URL(`tls/${name}`, import.meta.url));
/** Signs itself, for receiver.test, localhost and 127.0.0.1; made for these tests and good for nothing else. */
export const certificate = file('receiver.crt');

/** A real HTTP(S) server on loopback. Answers 200 unless told otherwise. */
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
      for (const look of waiting) look();
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
        const look = () => {
          if (received.length < count) return;
          waiting.delete(look);
          resolve(received);
        };
        waiting.add(look);
        look();
      }),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}
