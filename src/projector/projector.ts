import { inRounds } from '../event-loop/rounds.ts';
import type { OperatedEventStore } from '../event-store/event-store.ts';
import { askLog } from '../event-store/outage.ts';
import { createRole } from '../leases/role.ts';
import { projectorLease, READ_MODEL_LEASES } from '../read-models/leases.ts';
import type { NodeStatus } from '../read-models/node-status.ts';
import { openReadModels } from '../read-models/read-models.ts';
import { type GenerationsDeps, keepGenerations } from './keep-generations.ts';

export type ProjectorDeps = GenerationsDeps & {
  readonly events: OperatedEventStore;
  /** A `tool`, such as the command line, keeps read models up to date only while no service runs. Default `service`. */
  readonly kind?: NodeStatus['kind'];
  /** See `openReadModels`. */
  readonly catchUpWithinMs?: number;
};

/** How often a process that may project asks whether the log answers, and how long it waits for that. */
const ASK_EVERY_MS = 1_000;
const ASK_WITHIN_MS = 2_000;
/** A process that has not reached the log for this long leaves the read models to others. */
const UNREACHABLE_MS = 4_000;

export type Projector = Awaited<ReturnType<typeof openProjector>>;

/**
 * Opens the read models of this process, and the projector that keeps them up to date once started: a role of one process for each
 * release.
 */
export async function openProjector(deps: ProjectorDeps) {
  const { events, documents, heartbeats, logger, kind = 'service' } = deps;
  const readModels = await openReadModels(deps);
  const { generations } = readModels;
  const { name } = generations;
  const stopping = new AbortController();

  const isUnreachable = (): boolean => {
    const since = events.outage.since();
    return since !== undefined && performance.now() - since > UNREACHABLE_MS;
  };
  /** A tool lets services take over. */
  const mustYield = (): boolean =>
    kind === 'tool' && heartbeats.lastSeen().some(({ status }) => status.kind === 'service');

  const role = createRole({
    name: projectorLease(name),
    collection: READ_MODEL_LEASES,
    documents,
    heartbeats,
    clock: Date.now,
    logger,
    mayRun: () => !isUnreachable() && !mustYield(),
    async run(isHeld) {
      logger.info({ generation: name }, 'Keeping read models up to date');
      return keepGenerations({ ...deps, generations, isHeld });
    },
  });

  return {
    /** Usable whether or not this process projects. */
    readModels,
    /** Whether this process keeps the read models up to date. */
    isActive: role.isActive,

    /**
     * Keeps read models up to date while this process holds the lease of its release: builds them and folds new events into them.
     * Logs failures, shows them in the status and retries forever.
     */
    start(): void {
      void inRounds(ASK_EVERY_MS, stopping.signal, () => askLog(events, ASK_WITHIN_MS).catch(() => {}));
      heartbeats.announce({ projects: true });
      role.start();
    },
    /** Stops after the current batch, so that another process can take over at once. */
    async stop(): Promise<void> {
      stopping.abort();
      await role.stop();
      heartbeats.announce({ projects: false });
      await readModels.close();
    },
  };
}
