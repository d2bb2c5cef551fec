import Fastify, { type FastifyInstance, LogController, type RouteOptions } from 'fastify';
import { routesOnDemand } from '../runtime/routes-on-demand.ts';
import { handleError, sendNotFound } from './errors.ts';

/** Swagger UI uses inline styles. Everything else is loaded from this service. */
const DOCS_CSP =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'self'; frame-ancestors 'none'";

/**
 * Serves the OpenAPI description of the routes that are added to `app` after this at /openapi.json, and Swagger UI at /docs.
 * @param publicUrl {base_url} without the path prefix
 */
export function describeRoutes(app: FastifyInstance, publicUrl: string): void {
  const routes: RouteOptions[] = [];
  routesOnDemand(app, ['/openapi.json', '/docs', '/docs/*'], async () => {
    const { default: swagger } = await import('@fastify/swagger');
    const { default: swaggerUi } = await import('@fastify/swagger-ui');
    const docs = Fastify({
      loggerInstance: app.log,
      logController: new LogController({ disableRequestLogging: true }),
    });
    docs.setErrorHandler(handleError);
    docs.setNotFoundHandler(sendNotFound);
    await docs.register(swagger, {
      openapi: {
        openapi: '3.1.0',
        info: {
          title: 'Venue Booking Service',
          version: '1',
          description: 'Availability of spaces, booking requests, reviews and webhooks.',
        },
        servers: [{ url: publicUrl }],
        security: [{ bearer: [] }],
        components: {
          securitySchemes: {
            bearer: { type: 'http', scheme: 'bearer', description: 'An API key or an OAuth access token.' },
          },
        },
      },
    });
    // They are described here, not answered.
    await docs.register(async (described) => {
      described.setValidatorCompiler(() => () => true);
      described.setSerializerCompiler(() => JSON.stringify);
      for (const { method, url, schema } of routes)
        described.route({ method, url, ...(schema && { schema }), handler: sendNotFound });
    });
    docs.get('/openapi.json', { schema: { hide: true } }, async () => docs.swagger());
    await docs.register(swaggerUi, {
      routePrefix: '/docs',
      staticCSP: DOCS_CSP,
      theme: { title: 'Venue Booking Service: API' },
      uiConfig: { layout: 'BaseLayout', docExpansion: 'list' },
    });
    return docs;
  });
  app.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD' && route.schema?.hide !== true) routes.push(route);
  });
}
