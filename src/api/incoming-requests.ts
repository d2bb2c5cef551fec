import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify';
import type { Logger } from 'pino';
import { textProblem, UnusableText } from '../domain/unicode.ts';

/** What happens to every request before its handler. Call these before routes are added, and {@link answerInOrder} before other hooks. */

/** Requests that may wait on a connection for the answers to earlier ones. The last of them ends it, and further ones are not answered. */
const MOST_PIPELINED = 16;

/**
 * Starts a pipelined request only after the earlier responses on its connection have been written. A client that reads no responses
 * thus occupies one handler at most, and a connection ends soon, also if the network takes all of its responses.
 */
export function answerInOrder(app: FastifyInstance): void {
  const waiting = new WeakMap<Socket, number>();
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply;
    if (raw.socket !== null) return done();
    const { socket } = request.raw;
    const count = (waiting.get(socket) ?? 0) + 1;
    if (count > MOST_PIPELINED) return;
    waiting.set(socket, count);
    if (count === MOST_PIPELINED) reply.header('connection', 'close');
    // Node assigns the socket to the responses of a connection in turn, and never if the connection closes first.
    raw.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1);
      done();
    });
  });
}

/**
 * Prepares `X-Forwarded-For` for Fastify, which reads the caller's address (`request.ip`) from it. Removes the port that some
 * proxies add: it differs for each connection, and would defeat the rate limits.
 *
 * Warns once if an untrusted proxy sends the header: all clients behind it share one address and thus one limit.
 */
export function readForwardedFor(app: FastifyInstance, logger: Pick<Logger, 'warn'>): void {
  let isWarned = false;
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request;
    const forwarded = headers['x-forwarded-for'];
    if (forwarded !== undefined) {
      headers['x-forwarded-for'] = String(forwarded).split(',').map(withoutPort).join(',');
      // For an untrusted proxy, `ips` holds only the address of the connection.
      if (!isWarned && (request.ips?.length ?? 1) === 1) {
        isWarned = true;
        logger.warn({ proxy: request.ip }, UNTRUSTED);
      }
    }
    done();
  });
}

const UNTRUSTED =
  'X-Forwarded-For comes from an address that is not in TRUST_PROXY, so all callers behind it share their limits: ' +
  '50 wrong passwords lock all of them out. Add the address to TRUST_PROXY if it is your reverse proxy';

/** Removes the port from `192.0.2.1:5678` and `[2001:db8::1]:99`, and the brackets. */
function withoutPort(entry: string): string {
  const [, ipv6, ipv4] = /^(?:\[([^\]]*)\](?::\d*)?|([^:]*):\d*)$/.exec(entry.trim()) ?? [];
  return ipv6 ?? ipv4 ?? entry.trim();
}

/**
 * Refuses compressed bodies. Otherwise their bytes would be read as text, and the error would be about the text. After authentication, so
 * that a caller without a credential gets its 401.
 */
export function refuseEncodedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const { 'content-encoding': encoding = '' } = request.headers;
    if (!hasBody(request) || encoding === '' || encoding.toLowerCase() === 'identity') return done(null, payload);
    const name = encoding.length > REPEATED_NAME ? 'this' : encoding;
    done(new EncodedBody(`Content-Encoding: ${name} is not accepted. Send the body as it is.`));
  });
}

const hasBody = ({ headers }: FastifyRequest): boolean => {
  const { 'content-length': length, 'transfer-encoding': chunked } = headers;
  return chunked !== undefined || (length !== undefined && length !== '0');
};

/** The longest name of an encoding that an answer repeats, in characters. */
const REPEATED_NAME = 40;

/** A body in an encoding that no route decodes. Its message goes to the client. */
class EncodedBody extends Error {
  readonly statusCode = 415;
}

/**
 * Sees to it that nothing reads the body of a request before the request has been checked (docs/decisions/rest-api.md#bodies). Each route that
 * takes a body has an `onRequest` hook of its own, for the credential, the permission and the limits; without one, the service does not start.
 * Requests for unknown paths are answered without their bodies.
 */
export function checkBeforeBodies(app: FastifyInstance): void {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void routes.push(route));
  app.addHook('onReady', (done) => {
    const unchecked = routes.filter((route) => takesBody(route) && [route.onRequest ?? []].flat().length === 0);
    const [first] = unchecked;
    if (first === undefined) done();
    else done(new Error(`${first.method} ${first.url} would read bodies before any check: give it an onRequest hook`));
  });
  app.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.is404 && hasBody(request)) done(new UnknownPath());
    else done(null, payload);
  });
}

/** Preflights have no body. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const takesBody = ({ method }: RouteOptions): boolean => [method].flat().some((each) => !WITHOUT_BODY.has(each));

/** A request with a body for a path that does not exist. The error handlers answer it like one without. */
class UnknownPath extends Error {
  readonly statusCode = 404;
}

/**
 * Refuses texts that no field takes, in addresses, forms and JSON, before anything reads them. The bodies of MCP and OAuth are not parsed
 * yet: MCP checks the input of each tool.
 */
export function refuseUnusableTexts(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    const { query, body } = request;
    const problem = textProblem(query, 'The address') ?? textProblem(body, 'The body');
    if (problem === undefined) done();
    else done(new UnusableText(`${problem}.`));
  });
}
