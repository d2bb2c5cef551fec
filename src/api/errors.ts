import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { isUint8Array } from 'node:util/types';
import type { FastifyError, FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify';
import { ERROR_STATUS, type ErrorBody, type ErrorCode } from '../contract/schemas/errors.ts';
import type { Refusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { nodeHttp } from '../http/node-http.ts';
import { isUnavailable, OutcomeUnknown, publicMessageOf, RETRY_AFTER_SECONDS } from '../runtime/unavailable.ts';
import { CROSS_ORIGIN } from './cross-origin.ts';

export function sendError(reply: FastifyReply, error: ErrorCode, details: string): FastifyReply {
  const body: ErrorBody = { error, details };
  return reply.code(ERROR_STATUS[error]).type('application/json; charset=utf-8').send(JSON.stringify(body));
}

export const sendRefusal = (reply: FastifyReply, { refused, details, retryAfter }: Refusal): FastifyReply =>
  sendError(retryAfter === undefined ? reply : reply.header('retry-after', retryAfter), refused, details);

/** Messages for requests that Fastify itself rejects. 413 and 415 become 400 (docs/decisions/rest-api.md). */
const REQUEST_PROBLEMS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body must be JSON: send Content-Type: application/json.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON.',
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is too large.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The length of the body does not match Content-Length.',
};

/** Messages for URLs that Fastify rejects before it looks up a route. */
const URL_PROBLEMS: Readonly<Record<string, string>> = {
  FST_ERR_BAD_URL: 'The URL is malformed: check its percent-encoding.',
  FST_ERR_MAX_PARAM_LENGTH: 'The path is too long.',
};

/** For an unknown path, or a method that the path does not support. */
export function sendNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const [path = ''] = request.url.split('?', 1);
  const route = path.length > REPEATED_PATH ? 'such path' : `${request.method} ${path}`;
  return sendError(reply, 'ResourceNotFound', `There is no ${route}.`);
}

/** `/bookings//history` is another path than `/bookings/{id}/history`, not one with a malformed id. */
export const refuseEmptySegments: preValidationHookHandler = (request, reply, done) => {
  const params: { readonly [name: string]: unknown } = Object(request.params);
  for (const name in params) if (params[name] === '') return void sendNotFound(request, reply);
  done();
};

/** The longest path that an answer repeats, in characters. Our own paths are shorter. */
const REPEATED_PATH = 100;

/** An error. Those of Fastify have a code and a status. */
type Thrown = Error & Partial<Pick<FastifyError, 'code' | 'statusCode'>>;

/** Turns anything thrown into our error shape. Unexpected errors reveal no internals. */
export function handleError(error: Thrown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const unreadable = URL_PROBLEMS[error.code ?? ''];
  if (unreadable !== undefined) return sendError(reply, 'ValidationError', unreadable);
  // Even if the body is malformed, because no route matches.
  if (request.is404) return sendNotFound(request, reply);
  const problem = REQUEST_PROBLEMS[error.code ?? ''];
  if (problem !== undefined) return sendError(reply, 'ValidationError', problem);
  if (error.statusCode === 403 || error.statusCode === 404) return sendNotFound(request, reply);
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return sendError(reply, 'ValidationError', error.message);
  if (isUnavailable(error)) {
    request.log.warn({ err: error, reqId: request.id }, 'unavailable');
    const details = `${publicMessageOf(error)} (request ${request.id}). ${adviceOn(error, request)}`;
    return sendError(reply.header('retry-after', RETRY_AFTER_SECONDS), 'InternalError', details);
  }
  request.log.error({ err: error, reqId: request.id }, 'unexpected error');
  return sendError(
    reply,
    'InternalError',
    `An unexpected error occurred (request ${request.id}). Retrying with exponential backoff is safe.`,
  );
}

/** Advice to the client after a temporary error. */
function adviceOn(error: Error, { headers }: FastifyRequest): string {
  if (!(error instanceof OutcomeUnknown)) return 'Retrying is safe.';
  return headers['idempotency-key'] === undefined
    ? 'Look whether it was done before you send the request again.'
    : 'Sending the same request with the same Idempotency-Key again is safe, and returns the outcome.';
}

type RefusedByNode = NodeJS.ErrnoException & { readonly rawPacket?: unknown };

/** A request that was answered before it became one of Fastify's. */
export type RefusedEarly = {
  readonly id: string;
  /** Absent if the request could not be read. */
  readonly method?: string;
  readonly status: number;
  /** The code of Node's error, such as `HPE_INVALID_METHOD`. */
  readonly reason?: string;
};

/**
 * Answers requests that are not valid HTTP, such as a malformed request line or oversized headers, or that do not arrive in time, and closes
 * the connection.
 */
export const handleClientError =
  (onRefused: (request: RefusedEarly) => void) =>
  (error: RefusedByNode, socket: Socket): void => {
    // A connection that fails between two requests, and what arrives after a refusal.
    if (error.code === 'ECONNRESET' || !socket.writable) return;
    const answer = currentAnswer(socket);
    // There is no request, or another answer is on its way.
    if (socket.bytesRead === 0 || answer?.headersSent === true) return void socket.destroy();
    const id = endWith(socket, '400 Bad Request', { error: 'ValidationError', details: whyRefused(error) });
    // Otherwise only its body was refused, and Fastify has the request.
    if (answer?.req.complete !== false) onRefused({ id, status: 400, ...defined({ reason: error.code }) });
  };

/** The answer that is due on a connection. Node's own handler of such errors looks for it in the same place. */
function currentAnswer(socket: Socket): ServerResponse | undefined {
  const answer: unknown = Reflect.get(socket, '_httpMessage');
  return answer instanceof nodeHttp.ServerResponse ? answer : undefined;
}

function whyRefused(error: RefusedByNode): string {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive in time.';
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return `${tooLongIn(error)} too long: together they have at most ${nodeHttp.maxHeaderSize / 1_024} KiB.`;
  return 'The request is not valid HTTP/1.1.';
}

/** What is too long, as far as the last part of the request that arrived shows it. */
function tooLongIn({ rawPacket }: RefusedByNode): string {
  const text = isUint8Array(rawPacket) ? Buffer.from(rawPacket).toString('latin1') : '';
  const [line = '', ...headers] = text.split('\r\n');
  const beginsWithUrl = /^[A-Z]+ \S/.test(line);
  if (beginsWithUrl && (headers.length === 0 || line.length > nodeHttp.maxHeaderSize / 2)) return 'The URL is';
  return beginsWithUrl || headers.length > 0 ? 'The headers are' : 'The URL and the headers are';
}

/**
 * Answers requests that Node would refuse without a body: a tunnel (CONNECT), and an expectation other than `100-continue`, which becomes a
 * request like any other. Those without a Host get past Node (`requireHostHeader` is off). {@link headerProblem} finds both.
 */
export function answerUncommonRequests(server: Server, onRefused: (request: RefusedEarly) => void): void {
  server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) =>
    server.emit('request', request, response),
  );
  server.on('connect', ({ method }: IncomingMessage, socket: Duplex) => {
    const id = endWith(socket, '404 Not Found', { error: 'ResourceNotFound', details: 'There is no CONNECT.' });
    onRefused({ id, status: 404, ...defined({ method }) });
  });
}

/** What is wrong with the headers of a request to any path. Undefined: nothing. */
export function headerProblem(request: FastifyRequest): string | undefined {
  if (lacksOneHost(request)) return 'The header Host is required, once.';
  const { expect } = request.headers;
  if (expect !== undefined && !/^\s*100-continue\s*$/i.test(expect))
    return 'The header Expect asks for something that this server does not do.';
  return undefined;
}

/** Whether a request lacks exactly one Host, as HTTP/1.1 demands (RFC 9112, 3.2). Of several, a proxy may have used another one. */
const lacksOneHost = ({ headers, raw }: FastifyRequest): boolean =>
  headers.host === undefined ? raw.httpVersion === '1.1' : isRepeated(raw.rawHeaders, 'host');

function isRepeated(rawHeaders: readonly string[], header: string): boolean {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === header.length && name.toLowerCase() === header) count += 1;
  }
  return count > 1;
}

export const sendHeaderProblem = (reply: FastifyReply, details: string): FastifyReply =>
  sendError(reply.headers({ ...CROSS_ORIGIN, connection: 'close' }), 'ValidationError', details);

/** Answers on a connection without a Fastify reply, and closes it. @returns the id of the request */
function endWith(socket: Duplex, status: string, answer: ErrorBody): string {
  const id = randomUUID();
  const body = JSON.stringify(answer);
  const headers = {
    ...CROSS_ORIGIN,
    'x-request-id': id,
    'x-content-type-options': 'nosniff',
    'content-length': Buffer.byteLength(body),
    'content-type': 'application/json; charset=utf-8',
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${body}`);
  return id;
}
