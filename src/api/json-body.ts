import { isUtf8 } from 'node:buffer';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** An unusable body. Its message goes to the client (docs/decisions/rest-api.md). */
class InvalidBody extends Error {
  readonly statusCode = 400;
}

/**
 * Accepts JSON in UTF-8. Many clients send `Content-Type: application/json` with every call, so an empty body counts as none.
 */
export function acceptJson(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeContentTypeParser(['application/json', 'text/plain']);
  // Of another type, only an empty chunked body is accepted. {@link ignoreTypeOfEmptyBody} handles empty bodies of a known length.
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, bytes, done) => {
    if (bytes.byteLength === 0) done(null, undefined);
    else done(new InvalidBody('The body must be JSON: send Content-Type: application/json.'));
  });
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (bytes.byteLength === 0) return done(null, undefined);
    if (!isUtf8(bytes)) return done(new InvalidBody('The body is not text in UTF-8.'));
    const text = bytes.toString();
    parseJson(request, text, (error, body) => {
      if (error !== null && isJson(text))
        return done(new InvalidBody('The body has a property that is not allowed: __proto__ or constructor.'));
      done(error, body);
    });
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Ignores the Content-Type of a request without a body, because Fastify would refuse an unknown type. */
export function ignoreTypeOfEmptyBody({ method, headers }: FastifyRequest): void {
  if (method === 'GET' || headers['content-type'] === undefined || headers['transfer-encoding'] !== undefined) return;
  const length = headers['content-length'];
  if (length === undefined || length === '0') delete headers['content-type'];
}
