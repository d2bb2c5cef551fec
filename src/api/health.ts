import type { FastifyPluginAsync } from 'fastify';
import { defined } from '../domain/defined.ts';
import type { Problem, ReadModelsStatus } from '../read-models/status.ts';
import { timeLeft } from '../runtime/estimate.ts';
import { within } from '../runtime/within.ts';

/** How many events the read models may lag behind the log before the service is not ready. */
export const MAX_LAG = 1_000;

/** Timeout of a store check. It is shorter than a load balancer's, so that the balancer gets the cause. */
const ANSWERS_WITHIN_MS = 2_000;

export type Health = {
  /** Each resolves if the store responds. */
  readonly ping: Readonly<Record<'eventStore' | 'documentStore', () => Promise<void>>>;
  /** The status of the read models, with their lag counted up to `limit`. */
  readonly readModels: (limit: number) => Promise<ReadModelsStatus>;
  /** A warning about the disk of the embedded files, if any. */
  readonly disk?: () => Promise<string | undefined>;
  /** The problem of this machine's clock, if it has one. */
  readonly clock?: () => string | undefined;
  /** How many events could not be turned into deliveries. */
  readonly failedEvents?: () => Promise<{ readonly parked: number; readonly retrying: number }>;
  /** Whether the process is stopping and should get no more requests. */
  readonly stopping?: () => boolean;
  /** How long a store may take to answer, in milliseconds. Default 2 s. */
  readonly answersWithinMs?: number;
};

const NO_EVENTS = { parked: 0, retrying: 0 };

/** `/healthz`: the process is alive. `/readyz`: its stores respond and every read model can be read and is close behind the log. */
export const healthRoutes =
  ({
    ping,
    readModels,
    disk = async () => undefined,
    clock = () => undefined,
    failedEvents = async () => NO_EVENTS,
    stopping = () => false,
    answersWithinMs = ANSWERS_WITHIN_MS,
  }: Health): FastifyPluginAsync =>
  async (app) => {
    app.get('/healthz', async () => ({ status: 'ok' }));

    app.get('/readyz', async (request, reply) => {
      if (stopping()) return reply.code(503).send({ status: 'stopping' });
      const check = async <R>(name: string, ask: () => Promise<R>): Promise<R | undefined> => {
        try {
          return await within(answersWithinMs, ask());
        } catch (error) {
          request.log.warn({ err: error, reqId: request.id, check: name }, 'not ready');
          return undefined;
        }
      };
      const stores = await Promise.all(
        Object.entries(ping).map(async ([name, probe]) => {
          const answered = await check(name, async () => probe().then(() => true));
          return [name, answered ? 'ok' : 'unreachable'] as const;
        }),
      );
      const reachable = stores.every(([, state]) => state === 'ok');
      const status = reachable ? await check('readModels', () => readModels(MAX_LAG + 1)) : undefined;
      const { parked, retrying } = (reachable && (await check('failedEvents', failedEvents))) || NO_EVENTS;
      const unreadable = status?.problems.some(({ readable }) => !readable);
      const ready = status?.caughtUp === true && status.lag <= MAX_LAG && !unreadable;
      // The process has just started or resumed, and its read models have not caught up yet.
      const isCatchingUp = status !== undefined && !status.caughtUp && !unreadable;
      return reply.code(ready ? 200 : 503).send({
        status: ready ? 'ready' : isCatchingUp ? 'catching up' : 'not ready',
        ...Object.fromEntries(stores),
        eventsBehind: status?.lag ?? null,
        // A warning: only a full disk stops writes.
        ...defined({ disk: await disk().catch(() => undefined) }),
        // A warning: a wrong reference clock must not make every process unready.
        ...defined({ clock: clock() }),
        ...(status !== undefined &&
          status.problems.length > 0 && {
            readModels: Object.fromEntries(status.problems.map((problem) => [problem.readModel, describe(problem)])),
          }),
        // A warning: one failing event does not affect other work.
        ...(parked + retrying > 0 && {
          webhooks: `events without deliveries: ${parked} parked, ${retrying} tried again; see venue parked list`,
        }),
      });
    });
  };

/** Leaves out the cause, because this page is public. The log has it. */
function describe(problem: Problem): string {
  if (problem.state === 'unattended') return 'no process keeps it up to date: start one with the role projector';
  if (problem.state === 'failing') {
    const times = problem.attempts === 1 ? 'once' : `${problem.attempts} times`;
    return `failing, tried ${times}; what needs it is refused`;
  }
  const done = `${problem.done} events read${problem.total === undefined ? '' : ` of ${problem.total}`}${timeLeft(problem.secondsLeft)}`;
  return problem.readable ? `being rebuilt, ${done}; the former documents are in use` : `being built, ${done}`;
}
