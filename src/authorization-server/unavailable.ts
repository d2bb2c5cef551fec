import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendPage } from '../html/layout.ts';
import {
  isUnavailable,
  OutcomeUnknown,
  publicMessageOf,
  RETRY_AFTER_SECONDS,
  Unavailable,
  type UnavailableError,
} from '../runtime/unavailable.ts';
import { unavailablePage } from './pages.ts';

/** A store does not answer, as OAuth says it (RFC 6749 4.1.2.1). The fields are those that oidc-provider reads of its own errors. */
class TemporarilyUnavailable extends Unavailable {
  readonly error = 'temporarily_unavailable';
  readonly error_description: string;
  readonly status = 503;
  readonly statusCode = 503;
  readonly expose = true;
  readonly allow_redirect = true;

  constructor(cause: UnavailableError) {
    super('temporarily_unavailable', cause, cause.publicMessage);
    this.error_description = publicMessageOf(cause);
  }
}

/** The same, whose methods throw what oidc-provider passes on to clients where a store does not answer. */
export function withOAuthErrors<T extends object>(target: T): T {
  return new Proxy(target, {
    get(of, name, receiver) {
      const member: unknown = Reflect.get(of, name, receiver);
      if (typeof member !== 'function') return member;
      return (...given: readonly unknown[]) => {
        const result: unknown = Reflect.apply(member, of, given);
        return result instanceof Promise ? result.catch(rethrow) : result;
      };
    },
  });
}

function rethrow(error: unknown): never {
  throw isUnavailable(error) ? new TemporarilyUnavailable(error) : error;
}

/** Says to an app, or to the person at the browser, that something does not answer. */
export function sendUnavailable(error: UnavailableError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.log.warn({ err: error, reqId: request.id }, 'unavailable');
  reply.header('retry-after', RETRY_AFTER_SECONDS);
  const told = publicMessageOf(error);
  if (request.headers.accept?.includes('text/html') === true)
    return sendPage(reply, 503, unavailablePage(told, error instanceof OutcomeUnknown));
  return reply.code(503).send({ error: 'temporarily_unavailable', error_description: told });
}
