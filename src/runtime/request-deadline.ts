import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { OutcomeUnknown, Unavailable } from './unavailable.ts';

/** How long a request may take until its answer begins. The README promises 10 s. */
const ANSWERED_WITHIN_MS = 9_500;
/** How often a request that has not arrived completely by then is looked at again. */
const LOOK_AGAIN_MS = 500;

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether what the request asks for may have been begun, if it may change something. */
    begun: boolean;
    /** When it has to be answered, by `performance.now()`. */
    answerBy: number;
    /** Answers it when nobody else has. */
    answering: NodeJS.Timeout | undefined;
  }
}

/**
 * Answers requests whose handlers do not, through the error handlers of their routes: whoever asks is told in time, whatever stands
 * still. What a handler has begun goes on; what it has not, never begins (docs/decisions/deadlines.md). To be called before routes
 * are added.
 */
export function answerInTime(app: FastifyInstance, withinMs = ANSWERED_WITHIN_MS): void {
  app.decorateRequest('begun', false);
  app.decorateRequest('answerBy', Number.POSITIVE_INFINITY);
  app.decorateRequest('answering', undefined);
  app.addHook('onRoute', (route) => {
    if (mayChange(route)) route.preHandler = [...[route.preHandler ?? []].flat(), begin];
  });
  app.addHook('onRequest', (request, reply, done) => {
    request.answerBy = performance.now() + withinMs;
    request.answering = setTimeout(late, withinMs, request, reply);
    done();
  });
  app.addHook('onSend', (request, _reply, payload, done) => {
    clearTimeout(request.answering);
    done(null, payload);
  });
}

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const mayChange = ({ method }: RouteOptions): boolean => [method].flat().some((each) => !READS.has(each));

function begin(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  request.begun = !READS.has(request.method);
  done();
}

function late(request: FastifyRequest, reply: FastifyReply): void {
  // Answered past Fastify, or given up by the client.
  if (reply.raw.headersSent || reply.raw.destroyed) return;
  // It is the client that takes its time; how long it may, the server itself watches.
  if (request.raw.complete === false) {
    request.answering = setTimeout(late, LOOK_AGAIN_MS, request, reply);
    return;
  }
  const send = reply.send.bind(reply);
  // What the handler still has to say comes too late.
  reply.send = (...payload) => (reply.raw.headersSent ? reply : send(...payload));
  const what = `${request.method} ${request.routeOptions.url ?? request.url} was not answered in time`;
  reply.send(
    request.begun ? new OutcomeUnknown(what) : new Unavailable(what, undefined, 'The service did not answer in time'),
  );
}
