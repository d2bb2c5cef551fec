import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendPage } from '../html/layout.ts';
import { OutcomeUnknown, publicMessageOf, RETRY_AFTER_SECONDS, type UnavailableError } from '../runtime/unavailable.ts';
import { unavailablePage } from './pages.ts';

/** Told while the metadata document of a client cannot be fetched and has no copy. */
export const NO_CLIENT_DOCUMENT = 'The metadata document of the client cannot be fetched at the moment';

/** Tells an app or a user that a store is unavailable. */
export function sendUnavailable(error: UnavailableError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  request.log.warn({ err: error, reqId: request.id }, 'unavailable');
  reply.header('retry-after', RETRY_AFTER_SECONDS);
  const message = publicMessageOf(error);
  if (request.headers.accept?.includes('text/html') === true)
    return sendPage(reply, 503, unavailablePage(message, error instanceof OutcomeUnknown));
  return reply.code(503).send({ error: 'temporarily_unavailable', error_description: message });
}
