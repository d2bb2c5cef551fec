import type { FastifySchema, preValidationHookHandler } from 'fastify';
import { sendError } from './errors.ts';
import { namesIn, unknownName } from './unknown-names.ts';

/**
 * Refuses query parameters that a route does not take. A misspelt filter (`Status`, or `status[]` of clients that send lists) would
 * otherwise be answered with everything.
 * @param querystring the schema of the route's parameters, if it takes any
 */
export function refuseUnknownParameters({ querystring }: FastifySchema = {}): preValidationHookHandler {
  const names = namesIn(querystring);
  return (request, reply, done) => {
    for (const name in Object(request.query))
      if (!names.includes(name))
        return void sendError(reply, 'ValidationError', `${unknownName('query parameter', name, names)}.`);
    done();
  };
}
