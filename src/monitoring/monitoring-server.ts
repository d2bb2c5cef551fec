import Fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import { sendNotFound } from '../api/errors.ts';
import { type CheckReadiness, healthRoutes } from '../api/health.ts';
import { onAddress } from '../http/unusable-address.ts';
import type { Prometheus, Reading } from './prometheus.ts';

/** What the server shows of the service, once there is one. */
type Observed = { readonly check: CheckReadiness; readonly readings: readonly Reading[] };

/**
 * Answers `/metrics`, `/healthz` and `/readyz` at an address of its own, in a process with any roles. It listens before the stores are
 * open, because they may be away.
 */
export async function startMonitoringServer(deps: {
  readonly address: { readonly host: string; readonly port: number };
  readonly release: string;
  readonly prometheus: Prometheus;
  readonly logger: FastifyBaseLogger;
}) {
  const { address, release, prometheus, logger } = deps;
  let observed: Observed = { check: async () => ({ status: 'starting' }), readings: [] };
  const app = Fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: true,
  });
  app.setNotFoundHandler(sendNotFound);
  await app.register(healthRoutes({ release, check: (onProblem) => observed.check(onProblem) }));
  app.get('/metrics', async (_request, reply) => {
    const text = await prometheus.exposition(observed.readings);
    return reply.type(prometheus.contentType).send(text);
  });
  await onAddress(address, () => app.listen(address), { host: 'METRICS_HOST', port: 'METRICS_PORT' });
  return {
    observe(service: Observed): void {
      observed = service;
    },
    close: (): Promise<void> => app.close(),
  };
}
