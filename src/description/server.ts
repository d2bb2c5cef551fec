import Fastify, { type FastifyInstance, LogController } from 'fastify';
import { loadOnce } from '../event-loop/load-once.ts';
import { sendPage } from '../html/layout.ts';
import { registerCompression } from '../http/compression.ts';
import { clientHas, digest } from '../http/entity-tag.ts';
import { type DescribedRoute, describeApi } from './openapi.ts';
import { asOpenApi30 } from './openapi-3.0.ts';
import type { Settings } from './settings.ts';

const ANY_ORIGIN = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'ETag, X-Request-Id' };

/** Serves /openapi.json and its copy as OpenAPI 3.0, which are built here, and /docs, which is rendered on its first request. */
export async function openDescription(
  routes: readonly DescribedRoute[],
  settings: Settings,
  logger: FastifyInstance['log'],
): Promise<FastifyInstance> {
  const app = Fastify({ loggerInstance: logger, logController: new LogController({ disableRequestLogging: true }) });
  await registerCompression(app);
  const api = describeApi(routes, settings);
  const page = loadOnce(async () => (await import('./page.ts')).docsPage(api, settings));
  for (const [path, document] of [
    ['/openapi.json', api],
    ['/openapi-3.0.json', asOpenApi30(api)],
  ] as const) {
    const text = JSON.stringify(document);
    const etag = `W/"${digest(text)}"`;
    app.get(path, (request, reply) => {
      // Tools in browsers read it from other origins.
      reply.headers({ ...ANY_ORIGIN, etag, 'cache-control': 'no-cache' });
      return clientHas(request, etag)
        ? reply.code(304).send()
        : reply.type('application/json; charset=utf-8').send(text);
    });
  }
  app.get('/docs', async (_request, reply) => sendPage(reply, 200, await page()));
  app.get('/docs/', (_request, reply) => reply.redirect('/docs'));
  return app;
}
