import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/** oidc-provider does not pass the request to its adapters. */
const requestId = new AsyncLocalStorage<string>();

export const runAsRequest = (id: string, work: () => void): void => requestId.run(id, work);

/** The id of the current request, which its events carry. */
export const correlationId = (): string => requestId.getStore() ?? `oauth-${randomUUID()}`;
