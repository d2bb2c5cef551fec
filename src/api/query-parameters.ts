import type { FastifySchema, preValidationHookHandler } from 'fastify';
import { isObject } from '../domain/is-object.ts';
import { sendError } from './errors.ts';

/** The longest name that an answer repeats, in characters. */
const REPEATED_NAME = 100;

/** That a request names what its path does not take, and what it takes. @param what such as `query parameter` */
export function unknownName(what: string, name: string, taken: readonly string[]): string {
  const named = name.length > REPEATED_NAME ? `A ${what}` : `The ${what} ${name}`;
  return `${named} is unknown: this path takes ${taken.length === 0 ? `no ${what}s` : taken.join(', ')}`;
}

/**
 * Refuses query parameters that a route does not take. A misspelt filter (`Status`, or `status[]` of clients that send lists) would
 * otherwise be answered with everything.
 * @param querystring the schema of the route's parameters, if it takes any
 */
export function refuseUnknownParameters({ querystring }: FastifySchema = {}): preValidationHookHandler {
  const names = isObject(querystring) && isObject(querystring.properties) ? Object.keys(querystring.properties) : [];
  return (request, reply, done) => {
    for (const name in Object(request.query))
      if (!names.includes(name))
        return void sendError(reply, 'ValidationError', `${unknownName('query parameter', name, names)}.`);
    done();
  };
}
