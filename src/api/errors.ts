import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { ERROR_STATUS, type ErrorBody, type ErrorCode } from '../contract/errors.ts';
import type { Refusal } from '../domain/decision.ts';
import { Unavailable } from '../runtime/unavailable.ts';

export function sendError(reply: FastifyReply, error: ErrorCode, details: string): FastifyReply {
  const body: ErrorBody = { error, details };
  return reply.code(ERROR_STATUS[error]).type('application/json; charset=utf-8').send(JSON.stringify(body));
}

export const sendRefusal = (reply: FastifyReply, { refused, details }: Refusal): FastifyReply =>
  sendError(reply, refused, details);

/**
 * What Fastify itself finds wrong with a request, in words. 405, 413 and 415 become 404 and 400 (docs/decisions/errors.md).
 */
const REQUEST_PROBLEMS: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'The body must be JSON: send Content-Type: application/json.',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'The body is empty; a JSON object is expected.',
  FST_ERR_CTP_INVALID_JSON_BODY: 'The body is not valid JSON.',
  FST_ERR_CTP_BODY_TOO_LARGE: 'The body is too large.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The body does not have the length that Content-Length says.',
  FST_ERR_BAD_URL: 'The URL is not valid: check its percent-encoding.',
};

/** There is no such route, or no such file. */
export const sendNotFound = (request: FastifyRequest, reply: FastifyReply): FastifyReply =>
  sendError(reply, 'ResourceNotFound', `There is no ${request.method} ${request.url.split('?', 1)[0]}.`);

const RETRY_AFTER_SECONDS = 2;

/** Turns whatever was thrown into the one error shape; a bug shows nothing of its insides. */
export function handleError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (error.validation) return sendError(reply, 'ValidationError', validationDetails(error));
  const known = REQUEST_PROBLEMS[error.code];
  if (known !== undefined) return sendError(reply, 'ValidationError', known);
  if (error.statusCode === 403 || error.statusCode === 404) return sendNotFound(request, reply);
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return sendError(reply, 'ValidationError', error.message);
  if (error instanceof Unavailable) {
    request.log.warn({ err: error, reqId: request.id }, 'unavailable');
    const details = `The service cannot answer this at the moment (request ${request.id}). Retrying is safe.`;
    return sendError(reply.header('retry-after', RETRY_AFTER_SECONDS), 'InternalError', details);
  }
  request.log.error({ err: error, reqId: request.id }, 'unexpected error');
  return sendError(
    reply,
    'InternalError',
    `An unexpected error happened (request ${request.id}). Retrying with exponential backoff is safe.`,
  );
}

/** `startHour must be <= 23` for the field that is wrong, wherever in the request it stands. */
function validationDetails(error: FastifyError): string {
  const problems = (error.validation ?? []).map(({ instancePath, keyword, params, message }) => {
    const field = instancePath.slice(1).replaceAll('/', '.');
    const problem =
      keyword === 'enum' && Array.isArray(params.allowedValues)
        ? `must be one of ${params.allowedValues.join(', ')}`
        : message;
    return field === '' ? `${error.validationContext ?? 'request'} ${problem}` : `${field} ${problem}`;
  });
  return `${problems.join('; ')}.`;
}

/** Answers what is not HTTP at all, such as a broken request line or headers without end, and closes the connection. */
export function handleClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const details =
    error.code === 'HPE_HEADER_OVERFLOW' ? 'The headers are too large.' : 'The request is not valid HTTP/1.1.';
  const body = JSON.stringify({ error: 'ValidationError', details } satisfies ErrorBody);
  const head = `HTTP/1.1 400 Bad Request\r\nContent-Length: ${Buffer.byteLength(body)}`;
  socket.end(`${head}\r\nContent-Type: application/json; charset=utf-8\r\nConnection: close\r\n\r\n${body}`);
}
