import type { FastifyPluginAsync } from 'fastify';
import { defined } from '../domain/defined.ts';
import type { Problem, ReadModelsStatus } from '../read-models/read-models.ts';

/** How many events the read models may lag behind the log before the service is not ready. */
export const MAX_LAG = 1_000;

export type Health = {
  /** Each resolves if the store responds. */
  readonly ping: Readonly<Record<'eventStore' | 'documentStore', () => Promise<void>>>;
  /** The status of the read models, with their lag counted up to `limit`. */
  readonly readModels: (limit: number) => Promise<ReadModelsStatus>;
  /** What to warn of about the disk of the embedded files, if anything. */
  readonly disk?: () => Promise<string | undefined>;
  /** What is wrong with the clock of this machine, if anything. */
  readonly clock?: () => string | undefined;
  /** How many events could not be turned into deliveries. */
  readonly failedEvents?: () => Promise<{ readonly parked: number; readonly retrying: number }>;
  /** Whether the process is about to end and should get no more requests. */
  readonly stopping?: () => boolean;
};

/** `/healthz`: the process is alive. `/readyz`: its stores respond and every read model can be read and is close behind the log. */
export const healthRoutes =
  ({
    ping,
    readModels,
    disk = async () => undefined,
    clock = () => undefined,
    failedEvents = async () => ({ parked: 0, retrying: 0 }),
    stopping = () => false,
  }: Health): FastifyPluginAsync =>
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
      const status = reachable ? await readModels(MAX_LAG + 1) : undefined;
      const { parked, retrying } = reachable ? await failedEvents() : { parked: 0, retrying: 0 };
      const unreadable = status?.problems.some(({ readable }) => !readable);
      const ready = status?.caughtUp === true && status.lag <= MAX_LAG && !unreadable;
      return reply.code(ready ? 200 : 503).send({
        status: ready ? 'ready' : 'not ready',
        ...Object.fromEntries(stores),
        eventsBehind: status?.lag ?? null,
        // A warning: writes are refused only when it is full.
        ...defined({ disk: await disk().catch(() => undefined) }),
        // Requests are answered, and processes that are all compared with one wrong clock must not all go.
        ...defined({ clock: clock() }),
        ...(status !== undefined &&
          status.problems.length > 0 && {
            readModels: Object.fromEntries(status.problems.map((problem) => [problem.readModel, describe(problem)])),
          }),
        // One event that fails does not keep the service from anything else.
        ...(parked + retrying > 0 && {
          webhooks: `events without deliveries: ${parked} parked, ${retrying} tried again; see venue parked list`,
        }),
      });
    });
  };

/** Without the cause, which the log has: anyone may ask. */
function describe(problem: Problem): string {
  if (problem.state === 'failing') {
    const times = problem.attempts === 1 ? 'once' : `${problem.attempts} times`;
    return problem.readable
      ? `being rebuilt, failing, tried ${times}; the former documents are in use`
      : `failing, tried ${times}; what needs it is refused`;
  }
  const done = `${problem.done} events read${problem.total === undefined ? '' : ` of ${problem.total}`}`;
  return problem.readable ? `being rebuilt, ${done}; the former documents are in use` : `being built, ${done}`;
}
