import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { OutcomeUnknown, Unavailable } from './unavailable.ts';

/** How long a request may take until its answer begins. docs/guides/rest-api.md promises 10 s. */
const ANSWERED_WITHIN_MS = 9_500;
/** How often requests that are under way are looked at. */
const LOOK_EVERY_MS = 100;

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether what the request asks for may have been begun, if it may change something. */
    begun: boolean;
    /** When it has to be answered, by `performance.now()`. */
    answerBy: number;
  }
}

type Deadline = {
  /** Default 9.5 s. */
  readonly withinMs?: number;
  /** Why nothing can be answered at the moment, if that is known. */
  readonly cause?: () => unknown;
};

/**
 * Answers requests whose handlers do not, through the error handlers of their routes: whoever asks is told in time, whatever stands
 * still. What a handler has begun goes on; what it has not, never begins (docs/decisions/rest-api.md). To be called before routes
 * are added.
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
 * Watches requests until they are answered. Most are by the end of the turn of the event loop in which they arrived, and cost no timer
 * and no hook.
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

  function look(): void {
    const now = performance.now();
    open = open.filter((reply) => !isAnswered(reply) && !answerLate(reply, now, cause));
    if (open.length > 0) lookLater();
    else isLooking = false;
  }

  function lookLater(): void {
    isLooking = true;
    setTimeout(look, LOOK_EVERY_MS);
  }

  return (reply) => {
    if (arrived.push(reply) === 1) setImmediate(endTurn);
  };
}

/** Also past Fastify, or given up by the client. */
const isAnswered = ({ raw }: FastifyReply): boolean => raw.headersSent || raw.destroyed;

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const mayChange = ({ method }: RouteOptions): boolean => [method].flat().some((each) => !READS.has(each));

function begin(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.begun = !READS.has(request.method);
  done();
}

/** @returns whether it was time */
function answerLate(reply: FastifyReply, now: number, cause: () => unknown): boolean {
  const { request } = reply;
  // While it has not arrived completely, it is the client that takes its time; how long it may, the server itself watches.
  if (request.answerBy > now || request.raw.complete === false) return false;
  const send = reply.send.bind(reply);
  // What the handler still has to say comes too late.
  reply.send = (...payload) => (reply.raw.headersSent ? reply : send(...payload));
  // A client that pipelines gets no further answers that late.
  reply.header('connection', 'close');
  const what = `${request.method} ${request.routeOptions.url ?? request.url} was not answered in time`;
  reply.send(
    request.begun
      ? new OutcomeUnknown(what, cause())
      : new Unavailable(what, cause(), 'The service did not answer in time'),
  );
  return true;
}
