import type { BaseLogger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import type { OperatedEventStore } from '../event-store/event-store.ts';
import { idOf, openCatalogue } from '../read-models/catalogue.ts';
import type { NodeStatus } from '../read-models/node-status.ts';
import {
  type LiveReadModels,
  openReadModelLeases,
  openReadModels,
  type ReadModels,
} from '../read-models/read-models.ts';
import type { ReadModelsStatus } from '../read-models/status.ts';
import type { Link } from '../runtime/link.ts';
import { untilNext } from '../runtime/rounds.ts';
import { type BulkOptions, ProjectionSupervisor } from './supervisor.ts';

export type ProjectorDeps = {
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
  /** A `tool`, such as the command line, keeps read models up to date only while no service runs. Default `service`. */
  readonly kind?: NodeStatus['kind'];
  /** See {@link openReadModels}. */
  readonly catchUpWithinMs?: number;
  /** See {@link openReadModels}. */
  readonly link?: Link | undefined;
  /** How long an unused read model is kept, in milliseconds. Default 24 h. */
  readonly retireAfterMs?: number;
  /** How long a collection is kept up to date after it was swapped out, in milliseconds. Default 10 s. */
  readonly graceMs?: number;
  /** How often to check for read models to take over, build or drop, in milliseconds. Default 250. */
  readonly tickMs?: number;
  /** The length of the log from which read models are built in bulk, default 5,000 events, and the size of the steps. */
  readonly bulk?: BulkOptions;
};

export type Projector = {
  /** Usable whether or not this process projects. */
  readonly readModels: ReadModels;
  /** The state of the read models, also of those that another process projects; see {@link LiveReadModels}. */
  status(limit?: number): Promise<ReadModelsStatus>;
  readonly readable: LiveReadModels['readable'];
  /**
   * Keeps read models up to date unless another process does: builds them, folds new events into them, and releases the lease of a
   * failing one. Logs failures, shows them in the status and retries forever.
   */
  start(): void;
  /** Stops after the current batch, so that another process can take over at once. */
  stop(): Promise<void>;
};

const TICK_MS = 250;
/** How many ticks to wait while this process holds every lease: there is nothing to take over then. */
const TICKS_WHILE_HOLDING = 4;
const RETIRE_AFTER_MS = 24 * 3_600_000;
/** Much longer than a reader may consider a swapped-out collection live (`TRUST_MS`). */
const GRACE_MS = 10_000;

/** Opens the read models of this process, and the projector that keeps them up to date once started. */
export async function openProjector(deps: ProjectorDeps): Promise<Projector> {
  const { logger, heartbeats, documents, projections, kind = 'service', tickMs = TICK_MS } = deps;
  const { retireAfterMs = RETIRE_AFTER_MS, graceMs = GRACE_MS, bulk = {} } = deps;
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  const readModels = await openReadModels(deps);
  const catalogue = await openCatalogue(documents);
  const announce = (projects: boolean) => heartbeats.announce({ kind, projects, wants: projections.map(idOf) });

  async function run(): Promise<void> {
    const { signal } = closing;
    const { events } = deps;
    const leases = await openReadModelLeases({ documents, heartbeats });
    const supervisor = new ProjectionSupervisor({
      events,
      documents,
      projections,
      heartbeats,
      leases,
      catalogue,
      readModels,
      kind,
      retireAfterMs,
      graceMs,
      logger,
      bulk,
    });
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
      const ticks = failing || !supervisor.holdsAll() ? 1 : TICKS_WHILE_HOLDING;
      await untilNext(ticks * tickMs, signal);
    }
    await supervisor.stop();
  }

  return {
    readModels,
    status: readModels.status,
    readable: readModels.readable,
    start() {
      if (running !== undefined) return;
      announce(true);
      // Announce these read models, so that processes of other releases wait for them.
      heartbeats.beat().catch(() => {});
      running = run();
    },
    async stop() {
      closing.abort();
      await running;
      announce(false);
      await readModels.close();
    },
  };
}
