import Fastify, { type FastifyInstance, LogController } from 'fastify';
import { sendPage } from '../html/layout.ts';
import { registerCompression } from '../runtime/compression.ts';
import { loadOnce } from '../runtime/load-once.ts';
import { type DescribedRoute, describeApi } from './openapi.ts';
import type { Settings } from './settings.ts';

/** Serves /openapi.json, which is built here, and /docs, which is rendered on its first request. */
export async function openDescription(
  routes: readonly DescribedRoute[],
  settings: Settings,
  logger: FastifyInstance['log'],
): Promise<FastifyInstance> {
  const app = Fastify({ loggerInstance: logger, logController: new LogController({ disableRequestLogging: true }) });
  await registerCompression(app);
  const api = describeApi(routes, settings);
  const text = JSON.stringify(api);
  const page = loadOnce(async () => (await import('./page.ts')).docsPage(api, settings));
  app.get('/openapi.json', (_request, reply) =>
    // Tools in browsers read it from other origins.
    reply.header('access-control-allow-origin', '*').type('application/json; charset=utf-8').send(text),
  );
  app.get('/docs', async (_request, reply) => sendPage(reply, 200, await page()));
  app.get('/docs/', (_request, reply) => reply.redirect('/docs'));
  return app;
}
