import { idOf, openCatalogue } from '../read-models/catalogue.ts';
import { openReadModelLeases, openReadModels } from '../read-models/read-models.ts';
import { untilNext } from '../runtime/rounds.ts';
import { ProjectionSupervisor, type SupervisorDeps } from './supervisor.ts';

export type ProjectorDeps = Pick<SupervisorDeps, 'events' | 'documents' | 'projections' | 'heartbeats' | 'logger'> &
  Partial<Pick<SupervisorDeps, 'kind' | 'retireAfterMs' | 'graceMs' | 'bulk'>> &
  Pick<Parameters<typeof openReadModels>[0], 'catchUpWithinMs'> & {
    /** How often to check for read models to take over, build or drop, in milliseconds. Default 250. */
    readonly tickMs?: number;
  };

const TICK_MS = 250;
/** How many ticks to wait while this process projects: there is nothing to take over then. */
const TICKS_WHILE_HOLDING = 4;
const RETIRE_AFTER_MS = 24 * 3_600_000;
/** Much longer than a reader may consider a swapped-out collection live (`TRUST_MS`). */
const GRACE_MS = 10_000;

export type Projector = Awaited<ReturnType<typeof openProjector>>;

/** Opens the read models of this process, and the projector that keeps them up to date once started. */
export async function openProjector(deps: ProjectorDeps) {
  const { logger, heartbeats, documents, projections, kind = 'service', tickMs = TICK_MS } = deps;
  const { retireAfterMs = RETIRE_AFTER_MS, graceMs = GRACE_MS, bulk = {} } = deps;
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  let supervisor: ProjectionSupervisor | undefined;
  const readModels = await openReadModels(deps);
  const catalogue = await openCatalogue(documents);
  const announce = (projects: boolean) => heartbeats.announce({ kind, projects, wants: projections.map(idOf) });

  async function run(): Promise<void> {
    const { signal } = closing;
    const leases = await openReadModelLeases({ documents, heartbeats });
    const limits = { retireAfterMs, graceMs, bulk };
    supervisor = new ProjectionSupervisor({ ...deps, ...limits, kind, leases, catalogue, readModels });
    let failing = false;
    while (!signal.aborted) {
      try {
        await supervisor.tick();
        if (failing) logger.info({}, 'The read models can be kept up to date again');
        failing = false;
      } catch (error) {
        if (!failing) logger.error({ err: error }, 'The read models cannot be kept up to date; retrying');
        failing = true;
      }
      const ticks = failing || !supervisor.isSettled() ? 1 : TICKS_WHILE_HOLDING;
      await untilNext(ticks * tickMs, signal);
    }
    await supervisor.stop();
  }

  return {
    /** Usable whether or not this process projects. */
    readModels,
    /** The state of the read models, also of those that another process projects; see `LiveReadModels`. */
    status: readModels.status,
    readable: readModels.readable,
    /** Whether this process keeps the read models up to date. */
    isActive: (): boolean => supervisor?.isActive() ?? false,

    /**
     * Keeps read models up to date while this process holds the lease of its release: builds them and folds new events into them.
     * Logs failures, shows them in the status and retries forever.
     */
    start(): void {
      if (running !== undefined) return;
      announce(true);
      // Announce these read models, so that processes of other releases wait for them.
      heartbeats.beat().catch(() => {});
      running = run();
    },
    /** Stops after the current batch, so that another process can take over at once. */
    async stop(): Promise<void> {
      closing.abort();
      await running;
      announce(false);
      await readModels.close();
    },
  };
}
