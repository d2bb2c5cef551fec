import type { FastifyInstance } from 'fastify';

/** A body in an encoding that no route decodes. Its message goes to the client. */
class EncodedBody extends Error {
  readonly statusCode = 415;
}

/** The longest name of an encoding that an answer repeats, in characters. */
const REPEATED_NAME = 40;

/**
 * Refuses compressed bodies. Otherwise their bytes would be read as text, and the error would be about the text. After authentication, so
 * that a caller without a credential gets its 401. Call it before routes are added.
 */
export function refuseEncodedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const {
      'content-encoding': encoding = '',
      'content-length': length,
      'transfer-encoding': chunked,
    } = request.headers;
    const hasBody = chunked !== undefined || (length !== undefined && length !== '0');
    if (!hasBody || encoding === '' || encoding.toLowerCase() === 'identity') return done(null, payload);
    const name = encoding.length > REPEATED_NAME ? 'this' : encoding;
    done(new EncodedBody(`Content-Encoding: ${name} is not accepted. Send the body as it is.`));
  });
}
