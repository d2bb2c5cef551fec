import type { FastifyPluginAsync } from 'fastify';

/** The projector may be this many events behind before the service calls itself not ready. */
export const MAX_LAG = 1_000;

export type Health = {
  /** Resolve when the store answers. */
  readonly ping: Readonly<Record<'eventStore' | 'documentStore', () => Promise<void>>>;
  /** Events between the read models and the end of the log, counted up to `limit`. */
  readonly lag: (limit: number) => Promise<number>;
};

/** `/healthz`: the process is alive. `/readyz`: the stores answer and the read models are close behind the log. */
export const healthRoutes =
  ({ ping, lag }: Health): FastifyPluginAsync =>
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
      const behind = reachable ? await lag(MAX_LAG + 1) : undefined;
      const ready = behind !== undefined && behind <= MAX_LAG;
      return reply
        .code(ready ? 200 : 503)
        .send({ status: ready ? 'ready' : 'not ready', ...Object.fromEntries(stores), eventsBehind: behind ?? null });
    });
  };
