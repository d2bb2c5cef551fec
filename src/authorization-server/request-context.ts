import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Sender } from '../auth/caller.ts';
import type { ChangeContext } from '../auth/unlogged-changes.ts';
import { traceOf } from '../http/trace.ts';

/** What the events of a request carry of it: its id and its trace. */
type RequestContext = Pick<ChangeContext, 'correlationId' | 'causationId'>;

/** oidc-provider does not pass the request to its adapters and listeners. */
const current = new AsyncLocalStorage<FastifyRequest>();

export const runAsRequest = (request: FastifyRequest, work: () => void): void => current.run(request, work);

/** The context of the current request. */
export function requestContext(): RequestContext {
  const request = current.getStore();
  return request === undefined
    ? { correlationId: `oauth-${randomUUID()}` }
    : { correlationId: request.id, ...traceOf(request) };
}

/** Notes who sent the current request. */
export function noteSender(sender: Sender): void {
  const request = current.getStore();
  if (request !== undefined) request.sender = sender;
}
