import type { FastifyPluginAsync } from 'fastify';
import { defined } from '../domain/defined.ts';
import type { ReadModelsStatus } from '../read-models/read-models.ts';

/** How many events the read models may lag behind the log before the service is not ready. */
export const MAX_LAG = 1_000;

export type Health = {
  /** Each resolves if the store responds. */
  readonly ping: Readonly<Record<'eventStore' | 'documentStore', () => Promise<void>>>;
  /** The status of the read models, with their lag counted up to `limit`. */
  readonly readModels: (limit: number) => Promise<Pick<ReadModelsStatus, 'lag' | 'failure'>>;
  /** What to warn of about the disk of the embedded files, if anything. */
  readonly disk?: () => Promise<string | undefined>;
  /** Whether the process is about to end and should get no more requests. */
  readonly stopping?: () => boolean;
};

/** `/healthz`: the process is alive. `/readyz`: its stores respond and the read models are close behind the log. */
export const healthRoutes =
  ({ ping, readModels, disk = async () => undefined, stopping = () => false }: Health): FastifyPluginAsync =>
  async (app) => {
    app.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }));

    app.get('/readyz', { schema: { hide: true } }, async (request, reply) => {
      if (stopping()) return reply.code(503).send({ status: 'stopping' });
      const check = async (name: string, probe: () => Promise<void>) => {
        try {
          await probe();
          return [name, 'ok'] as const;
        } catch (error) {
          request.log.warn({ err: error, check: name }, 'not ready');
          return [name, 'unreachable'] as const;
        }
      };
      const stores = await Promise.all(Object.entries(ping).map(([name, probe]) => check(name, probe)));
      const reachable = stores.every(([, state]) => state === 'ok');
      const { lag, failure } = reachable ? await readModels(MAX_LAG + 1) : {};
      const ready = lag !== undefined && lag <= MAX_LAG;
      return reply.code(ready ? 200 : 503).send({
        status: ready ? 'ready' : 'not ready',
        ...Object.fromEntries(stores),
        eventsBehind: lag ?? null,
        // A warning: writes are refused only when it is full.
        ...defined({ disk: await disk().catch(() => undefined) }),
        // A failing projection alone does not end readiness, as stale data can be served until the lag grows. The cause is logged.
        ...defined({ readModels: failure && `stuck after ${failure.attempts} attempts to ${failure.doing}` }),
      });
    });
  };
