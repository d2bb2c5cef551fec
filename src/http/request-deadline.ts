import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { OutcomeUnknown, Unavailable } from '../runtime/unavailable.ts';

/** How long a request may take until its answer begins. docs/guides/rest-api.md promises 10 s. */
export const ANSWERED_WITHIN_MS = 9_500;
/** How often the deadlines of open requests are checked. */
const CHECK_EVERY_MS = 100;

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the handler of a changing request may have begun. */
    begun: boolean;
    /** The deadline, by `performance.now()`. */
    answerBy: number;
  }
}

type Deadline = {
  /** Default 9.5 s. */
  readonly withinMs?: number;
  /** The known cause of the delay, such as an outage of the event log. */
  readonly cause?: () => unknown;
};

/**
 * Fails requests that take too long, through the error handlers of their routes. A handler that has begun runs on; one that has not
 * never begins (docs/decisions/rest-api.md). Call it before routes are added.
 */
export function answerInTime(
  app: FastifyInstance,
  { withinMs = ANSWERED_WITHIN_MS, cause = () => undefined }: Deadline = {},
): void {
  app.decorateRequest('begun', false);
  app.decorateRequest('answerBy', Number.POSITIVE_INFINITY);
  app.addHook('onRoute', (route) => {
    if (mayChange(route)) route.preHandler = [...[route.preHandler ?? []].flat(), begin];
  });
  const watch = createWatch(cause);
  app.addHook('onRequest', (request, reply, done) => {
    request.answerBy = performance.now() + withinMs;
    watch(reply);
    done();
  });
}

/**
 * Watches requests until they are answered. Most are answered within the turn of the event loop in which they arrived, and need no
 * timer or hook.
 */
function createWatch(cause: () => unknown): (reply: FastifyReply) => void {
  const arrived: FastifyReply[] = [];
  let open: FastifyReply[] = [];
  let isLooking = false;

  function endTurn(): void {
    for (const reply of arrived) if (!isAnswered(reply)) open.push(reply);
    arrived.length = 0;
    if (!isLooking && open.length > 0) lookLater();
  }

  function check(): void {
    const now = performance.now();
    open = open.filter((reply) => !isAnswered(reply) && !answerLate(reply, now, cause));
    if (open.length > 0) lookLater();
    else isLooking = false;
  }

  function lookLater(): void {
    isLooking = true;
    setTimeout(check, CHECK_EVERY_MS);
  }

  return (reply) => {
    if (arrived.push(reply) === 1) setImmediate(endTurn);
  };
}

/** Also true for raw responses and closed connections. */
const isAnswered = ({ raw }: FastifyReply): boolean => raw.headersSent || raw.destroyed;

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const mayChange = ({ method }: RouteOptions): boolean => [method].flat().some((each) => !READS.has(each));

function begin(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.begun = !READS.has(request.method);
  done();
}

/** @returns whether the deadline had passed */
function answerLate(reply: FastifyReply, now: number, cause: () => unknown): boolean {
  const { request } = reply;
  // While the request is still arriving, the server's own request timeout applies.
  if (request.answerBy > now || request.raw.complete === false) return false;
  const send = reply.send.bind(reply);
  // Fastify logs a line for each answer that a handler sends later, but an outage is one line in the log (docs/promises.md): without this,
  // `a stalled write is answered with an unknown outcome` in test/http/request-deadline.test.ts fails.
  reply.send = (...payload) => (reply.raw.headersSent ? reply : send(...payload));
  // Close the connection, so that pipelined requests fail at once.
  reply.header('connection', 'close');
  const what = `${request.method} ${request.routeOptions.url ?? 'of an unknown path'} was not answered in time`;
  reply.send(
    request.begun
      ? new OutcomeUnknown(what, cause())
      : new Unavailable(what, cause(), 'The service did not answer in time'),
  );
  return true;
}
