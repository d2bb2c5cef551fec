import { Client, type Dispatcher, errors } from 'undici';
import { defined } from '../../domain/defined.ts';
import {
  ForbiddenAddress,
  type GuardOptions,
  guardedConnector,
  ResolutionFailed,
} from '../../outbound/address-guard.ts';
import { type Post, type SendErrorType, type Sender, type SendResult, USER_AGENT } from './sender.ts';

/** One deadline for DNS, connection, headers and body (docs/guides/webhooks.md#answer-in-time). */
export const DEADLINE_MS = 5_000;
/** How much of a response body is read. */
const MAX_RESPONSE_BYTES = 16 * 1_024;
/** How much of it is stored with the attempt. */
const STORED_RESPONSE_BYTES = 1_024;
/** Closes idle connections before the receiver does: most servers close them after 5 s. */
const KEEP_ALIVE_MS = 4_000;

export type SenderOptions = Pick<GuardOptions, 'allowPrivate' | 'resolve' | 'tls' | 'onForbidden'> & {
  readonly deadlineMs?: number;
};

/** Sends to URLs from API clients; the address guard decides which addresses are allowed. */
export function createSender({ deadlineMs = DEADLINE_MS, ...guard }: SenderOptions): Sender {
  const connect = guardedConnector({ ...guard, timeoutMs: deadlineMs });
  const connections = new Set<Connection>();
  const idle = new Map<string, Connection[]>();

  /** A connection carries one request at a time, so that each attempt knows the address it went to. */
  function takeConnection(origin: string): Connection {
    const reusable = idle.get(origin)?.pop();
    if (reusable !== undefined) return reusable;
    const connection: Connection = {
      address: undefined,
      client: new Client(origin, {
        keepAliveTimeout: KEEP_ALIVE_MS,
        keepAliveMaxTimeout: KEEP_ALIVE_MS,
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: (options, callback) =>
          connect(options, (...[error, socket]) => {
            if (error !== null) return callback(error, null);
            connection.address = socket.remoteAddress;
            callback(null, socket);
          }),
      }),
    };
    connections.add(connection);
    connection.client.on('disconnect', () => {
      if (idle.get(origin)?.includes(connection)) drop(origin, connection, new Error('Idle'));
    });
    return connection;
  }

  function drop(origin: string, connection: Connection, reason: Error): void {
    connections.delete(connection);
    const others = idle.get(origin)?.filter((other) => other !== connection) ?? [];
    if (others.length > 0) idle.set(origin, others);
    else idle.delete(origin);
    // Fails the request in flight, if any, in any phase.
    void connection.client.destroy(reason);
  }

  function returnConnection(origin: string, connection: Connection): void {
    idle.getOrInsert(origin, []).push(connection);
  }

  function post({ url, headers, body }: Post): Promise<SendResult> {
    const { origin, pathname, search } = new URL(url);
    const connection = takeConnection(origin);
    const started = performance.now();
    return new Promise((resolve) => {
      let status: number | undefined;
      let retryAfter: string | undefined;
      let answer = '';
      // A character may be split between two chunks. One that is cut off at the end is left out.
      const text = new TextDecoder('utf-8', { ignoreBOM: true });
      let read = 0;
      let settled = false;

      const settle = (error: Error | undefined, reusable: boolean) => {
        if (settled) return;
        settled = true;
        clearTimeout(timer);
        // A connection that the receiver has already closed cannot be reused.
        if (reusable && connection.client.stats.connected) returnConnection(origin, connection);
        else drop(origin, connection, error ?? new Error('The connection cannot be reused'));
        const address = addressIn(error) ?? connection.address;
        resolve({
          ...defined({
            error: error && { type: errorType(error), message: error.message },
            status: error === undefined ? status : undefined,
            address,
            retryAfter,
          }),
          duration: Math.round(performance.now() - started),
          answer,
        });
      };
      const timer = setTimeout(() => settle(new DeadlineExceeded(deadlineMs), false), deadlineMs);

      const handler: Dispatcher.DispatchHandler = {
        onRequestStart() {},
        onResponseStart(_, statusCode, responseHeaders) {
          // Informational responses (1xx) precede the final one.
          if (statusCode < 200) return;
          status = statusCode;
          const header = responseHeaders['retry-after'];
          if (typeof header === 'string') retryAfter = header;
        },
        onResponseData(_, chunk) {
          if (read < STORED_RESPONSE_BYTES)
            answer += text.decode(chunk.subarray(0, STORED_RESPONSE_BYTES - read), { stream: true });
          read += chunk.length;
          if (read > MAX_RESPONSE_BYTES) settle(undefined, false);
        },
        onResponseEnd: () => settle(undefined, true),
        onResponseError: (_, error) => settle(error, false),
      };
      connection.client.dispatch(
        { path: pathname + search, method: 'POST', headers: { ...headers, 'user-agent': USER_AGENT }, body },
        handler,
      );
    });
  }

  return {
    post,
    async close() {
      await Promise.all(Array.from(connections, ({ client }) => client.destroy(new Error('The service is stopping'))));
    },
  };
}

type Connection = { readonly client: Client; address: string | undefined };

class DeadlineExceeded extends Error {
  constructor(deadlineMs: number) {
    super(`No complete response within ${deadlineMs / 1_000} s`);
    this.name = 'DeadlineExceeded';
  }
}

const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_|CRL_|ERROR_IN_)/;

function errorType(error: Error): SendErrorType {
  if (error instanceof DeadlineExceeded) return 'Timeout';
  if (error instanceof ForbiddenAddress) return 'Forbidden';
  if (error instanceof ResolutionFailed) return 'Dns';
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError) return 'Protocol';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'ECONNREFUSED') return 'Refused';
  if (code === 'ETIMEDOUT' || code === 'UND_ERR_CONNECT_TIMEOUT') return 'Timeout';
  if (TLS_CODE.test(code)) return 'Tls';
  return 'Connection';
}

const addressIn = (error: Error | undefined): string | undefined =>
  error !== undefined && 'address' in error && typeof error.address === 'string' ? error.address : undefined;
