import type { FastifyReply, FastifyRequest } from 'fastify';

/** The headers that scripts of other origins may read. */
export const EXPOSED = 'WWW-Authenticate, ETag, X-Request-Id, Retry-After';

/** Any origin may call, because callers send their credential in a header, never in a cookie. */
export const CROSS_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED };

/** How long a browser may keep the answer to a preflight, in seconds. */
export const PREFLIGHT_KEPT_S = 3_600;

/** Answers the preflight of a document that anyone may read. */
export async function sendPreflight({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const requested = headers['access-control-request-headers'];
  if (requested !== undefined)
    reply.header('access-control-allow-headers', requested).header('vary', 'Access-Control-Request-Headers');
  reply.header('access-control-allow-methods', 'GET, HEAD').header('access-control-max-age', PREFLIGHT_KEPT_S);
  return reply.code(204).headers(CROSS_ORIGIN).send();
}
