import type { FastifySchema, preValidationHookHandler } from 'fastify';
import { isObject } from '../domain/is-object.ts';
import { sendError } from './errors.ts';

/** The longest name that an answer repeats, in characters. */
const REPEATED_NAME = 100;

/**
 * Refuses query parameters that a route does not take. A misspelt filter (`Status`, or `status[]` of clients that send lists) would
 * otherwise be answered with everything.
 * @param querystring the schema of the route's parameters, if it takes any
 */
export function refuseUnknownParameters({ querystring }: FastifySchema = {}): preValidationHookHandler {
  const names = isObject(querystring) && isObject(querystring.properties) ? Object.keys(querystring.properties) : [];
  const usage = names.length === 0 ? 'takes no query parameters' : `takes ${names.join(', ')}`;
  return (request, reply, done) => {
    for (const name in Object(request.query)) {
      if (names.includes(name)) continue;
      const named = name.length > REPEATED_NAME ? 'A query parameter' : `The query parameter ${name}`;
      return void sendError(reply, 'ValidationError', `${named} is unknown: this path ${usage}.`);
    }
    done();
  };
}
