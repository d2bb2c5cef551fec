import type { FastifyPluginAsync } from 'fastify';
import { defined } from '../domain/defined.ts';
import { within } from '../event-loop/within.ts';
import type { Problem, ReadModelsStatus } from '../read-models/status.ts';
import { timeLeft } from '../text/estimate.ts';

/** How many events the read models may lag behind the log before the service is not ready. */
export const MAX_LAG = 1_000;

/** Timeout of a store check. It is shorter than a load balancer's, so that the balancer gets the cause. */
const ANSWERS_WITHIN_MS = 2_000;

type Store = 'eventStore' | 'documentStore';

export type Health = {
  /** Each resolves if the store responds. */
  readonly ping: Readonly<Record<Store, () => Promise<void>>>;
  /** The status of the read models, with their lag counted up to `limit`. */
  readonly readModels: (limit: number) => Promise<ReadModelsStatus>;
  /** A warning about the disk of the embedded files, if any. */
  readonly disk?: () => Promise<string | undefined>;
  /** The problem of this machine's clock, if it has one. */
  readonly clock?: () => string | undefined;
  /** How many events could not be turned into deliveries. */
  readonly failedEvents?: () => Promise<FailedEvents>;
  /** A warning about mail, if any. */
  readonly mail?: () => Promise<string | undefined>;
  /** Whether the process is stopping and should get no more requests. */
  readonly stopping?: () => boolean;
  /** How long a store may take to answer, in milliseconds. Default 2 s. */
  readonly answersWithinMs?: number;
};

type FailedEvents = { readonly parked: number; readonly retrying: number };

/** What a process finds when it checks itself. Absent: it was not checked, or could not be read. */
type Readiness = {
  readonly status: 'starting' | 'ready' | 'catching up' | 'not ready' | 'stopping';
  readonly stores?: Readonly<Record<Store, 'ok' | 'unreachable'>>;
  readonly readModels?: ReadModelsStatus;
  readonly failedEvents?: FailedEvents;
  readonly disk?: string;
  readonly clock?: string;
  readonly mail?: string;
};

export type CheckReadiness = (onProblem: (check: string, error: unknown) => void) => Promise<Readiness>;

/** Checks that the stores respond, that every read model can be read, and that they are close behind the log. */
export function createReadinessCheck({
  ping,
  readModels,
  disk = async () => undefined,
  clock = () => undefined,
  failedEvents,
  mail = async () => undefined,
  stopping = () => false,
  answersWithinMs = ANSWERS_WITHIN_MS,
}: Health): CheckReadiness {
  return async (onProblem) => {
    if (stopping()) return { status: 'stopping' };
    const check = async <R>(name: string, ask: () => Promise<R>): Promise<R | undefined> => {
      try {
        return await within(answersWithinMs, ask());
      } catch (error) {
        onProblem(name, error);
        return undefined;
      }
    };
    const stateOf = async (store: Store) =>
      (await check(store, async () => ping[store]().then(() => true))) ? 'ok' : 'unreachable';
    const [eventStore, documentStore] = await Promise.all([stateOf('eventStore'), stateOf('documentStore')]);
    const reachable = eventStore === 'ok' && documentStore === 'ok';
    const status = reachable ? await check('readModels', () => readModels(MAX_LAG + 1)) : undefined;
    const failed = reachable && failedEvents !== undefined ? await check('failedEvents', failedEvents) : undefined;
    const mailWarning = reachable ? await check('mail', mail) : undefined;
    const unreadable = status?.problems.some(({ readable }) => !readable);
    const ready = status?.caughtUp === true && status.lag <= MAX_LAG && !unreadable;
    // The process has just started or resumed, and its read models have not caught up yet.
    const isCatchingUp = status !== undefined && !status.caughtUp && !unreadable;
    return {
      status: ready ? 'ready' : isCatchingUp ? 'catching up' : 'not ready',
      stores: { eventStore, documentStore },
      ...defined({ readModels: status, failedEvents: failed }),
      // A warning: only a full disk stops writes.
      ...defined({ disk: await disk().catch(() => undefined) }),
      // A warning: a wrong reference clock must not make every process unready.
      ...defined({ clock: clock() }),
      // A warning: a mail server that is away must not make the service unready.
      ...defined({ mail: mailWarning }),
    };
  };
}

/** `/healthz`: the process is alive, and its release. `/readyz`: whether it can serve, and what is wrong. */
export const healthRoutes =
  ({ release, check }: { readonly release: string; readonly check: CheckReadiness }): FastifyPluginAsync =>
  async (app) => {
    app.get('/healthz', async () => ({ status: 'ok', release }));

    app.get('/readyz', async (request, reply) => {
      const readiness = await check((name, error) =>
        request.log.warn({ err: error, reqId: request.id, check: name }, 'not ready'),
      );
      return reply.code(readiness.status === 'ready' ? 200 : 503).send(bodyOf(readiness));
    });
  };

function bodyOf({ status, stores, readModels, failedEvents, disk, clock, mail }: Readiness): object {
  if (stores === undefined) return { status };
  const { parked, retrying } = failedEvents ?? { parked: 0, retrying: 0 };
  const problems = readModels?.problems ?? [];
  return {
    status,
    ...stores,
    eventsBehind: readModels?.lag ?? null,
    ...defined({ disk, clock, mail }),
    ...(problems.length > 0 && {
      readModels: Object.fromEntries(problems.map((problem) => [problem.readModel, describe(problem)])),
    }),
    // A warning: one failing event does not affect other work.
    ...(parked + retrying > 0 && {
      webhooks: `events without deliveries: ${parked} parked, ${retrying} tried again; see venue parked list`,
    }),
  };
}

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
