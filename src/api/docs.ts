import type { FastifyInstance, FastifySchema } from 'fastify';
import type { DescribedRoute, DescribedSchema } from '../description/openapi.ts';
import type { OperationId } from '../description/operations.ts';
import type { Settings } from '../description/settings.ts';
import { routesOnDemand } from '../http/routes-on-demand.ts';
import { sendPreflight } from './cross-origin.ts';
import { handleError } from './errors.ts';

declare module 'fastify' {
  interface FastifySchema {
    /** The name of the operation in the OpenAPI description, which leaves out routes without one. */
    operationId?: OperationId;
  }
}

/**
 * Serves the OpenAPI description of the routes that are added to `app` later, as /openapi.json, as OpenAPI 3.0 at
 * /openapi-3.0.json and as a page at /docs. The first request for any of them builds the description; the first one for the page renders it.
 */
export function describeRoutes(app: FastifyInstance, settings: Settings): void {
  const routes: DescribedRoute[] = [];
  const documents = ['/openapi.json', '/openapi-3.0.json'];
  // A tool in a browser asks first when it sends a header of its own, such as If-None-Match.
  for (const path of documents) app.options(path, { onRequest: sendPreflight, handler: sendPreflight });
  routesOnDemand(app, [...documents, '/docs', '/docs/'], async () => {
    const { openDescription } = await import('../description/server.ts');
    const description = await openDescription(routes, settings, app.log);
    description.setErrorHandler(handleError);
    return description;
  });
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (method === 'HEAD' || typeof method !== 'string' || config?.access === undefined) return;
    if (isDescribed(schema)) routes.push({ ...schema, method, url, access: config.access });
  });
}

/** Fastify leaves the types of schemas open; ours are TypeBox's. */
const isDescribed = (schema: FastifySchema | undefined): schema is FastifySchema & DescribedSchema =>
  schema?.operationId !== undefined && schema.response !== undefined;
