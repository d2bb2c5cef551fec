import type { FastifyInstance } from 'fastify';
import { loadOnce } from '../event-loop/load-once.ts';
import { copyHeaders } from './copy-headers.ts';

/** Adds GET routes served by a separate server that is built on the first request, which saves startup time and memory. */
export function routesOnDemand(
  app: FastifyInstance,
  paths: readonly string[],
  open: () => Promise<FastifyInstance>,
): void {
  const server = loadOnce(async () => {
    const opened = await open();
    await opened.ready();
    return opened;
  });
  for (const path of paths)
    app.get(path, async (request, reply) => {
      const { routing } = await server();
      reply.hijack();
      copyHeaders(reply);
      routing(request.raw, reply.raw);
    });
  app.addHook('onClose', async () => {
    await (await server.loaded())?.close();
  });
}
