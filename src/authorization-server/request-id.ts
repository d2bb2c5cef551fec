import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/** oidc-provider passes to its adapters nothing of the request that they work for. */
const requestId = new AsyncLocalStorage<string>();

export const runAsRequest = (id: string, work: () => void): void => requestId.run(id, work);

/** The id of the request that is being answered, under which the events that it causes are found. */
export const correlationId = (): string => requestId.getStore() ?? `oauth-${randomUUID()}`;
