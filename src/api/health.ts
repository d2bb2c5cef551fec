import type { FastifyPluginAsync } from 'fastify';
import { defined } from '../domain/defined.ts';
import type { ReadModelsStatus } from '../read-models/read-models.ts';

/** The projector may be this many events behind before the service calls itself not ready. */
export const MAX_LAG = 1_000;

export type Health = {
  /** Resolve when the store answers. */
  readonly ping: Readonly<Record<'eventStore' | 'documentStore', () => Promise<void>>>;
  /** How the read models are doing; the lag is counted up to `limit`. */
  readonly readModels: (limit: number) => Promise<Pick<ReadModelsStatus, 'lag' | 'failure'>>;
};

/** `/healthz`: the process is alive. `/readyz`: the stores answer and the read models are close behind the log. */
export const healthRoutes =
  ({ ping, readModels }: Health): FastifyPluginAsync =>
  async (app) => {
    app.get('/healthz', { schema: { hide: true } }, async () => ({ status: 'ok' }));

    app.get('/readyz', { schema: { hide: true } }, async (request, reply) => {
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
        // Readers can be served what there is until the lag grows; the log of the service says what is wrong.
        ...defined({ readModels: failure && `stuck after ${failure.attempts} attempts to ${failure.doing}` }),
      });
    });
  };
