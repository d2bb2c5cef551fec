import type { BaseLogger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { type LiveReadModels, openReadModels, type ReadModels, type Said } from '../read-models/read-models.ts';
import { openReadModelState } from '../read-models/state.ts';
import type { ReadModelsStatus } from '../read-models/status.ts';
import type { Link } from '../runtime/link.ts';
import { type BulkOptions, Upkeep } from './upkeep.ts';

export type ProjectorDeps = {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<Said>;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
  /** A `tool`, such as the command line, keeps read models up to date only while no service runs. Default `service`. */
  readonly kind?: Said['kind'];
  /** See {@link openReadModels}. */
  readonly catchUpWithinMs?: number;
  /** See {@link openReadModels}. */
  readonly link?: Link | undefined;
  /** How long a read model is kept that no process has wanted, in milliseconds. Default 24 h. */
  readonly retireAfterMs?: number;
  /** How often at least to look for what to take over, build or drop, in milliseconds. Default 250. */
  readonly tickMs?: number;
  /** From how many events in the log read models are built in bulk, default 5,000, and the steps of that. */
  readonly bulk?: BulkOptions;
};

export type Projector = {
  /** Usable whether or not this process projects. */
  readonly readModels: ReadModels;
  /** The state of the read models, whichever process keeps them up to date; see {@link LiveReadModels}. */
  status(limit?: number): Promise<ReadModelsStatus>;
  readonly readable: LiveReadModels['readable'];
  /**
   * Keeps read models up to date that no other process does: builds them, folds new events into them, and hands one that it cannot
   * get on with to another process. Never gives up: failures are logged, shown in the status and retried.
   */
  start(): void;
  /** Stops after the current batch and lets another process take over at once. */
  stop(): Promise<void>;
};

const TICK_MS = 250;
const RETIRE_AFTER_MS = 24 * 3_600_000;

/** Opens the read models of this process, and the projector that keeps them up to date once started. */
export async function openProjector(deps: ProjectorDeps): Promise<Projector> {
  const { logger, kind = 'service', tickMs = TICK_MS, retireAfterMs = RETIRE_AFTER_MS } = deps;
  const state = await openReadModelState(deps.documents);
  const closing = new AbortController();
  let running: Promise<void> | undefined;
  const readModels = await openReadModels({ ...deps, kind, projects: () => running !== undefined });

  async function run(): Promise<void> {
    const { signal } = closing;
    const upkeep = new Upkeep({ ...deps, kind, retireAfterMs, state, readModels });
    let failing = false;
    while (!signal.aborted) {
      try {
        await upkeep.tick();
        if (failing) logger.info({}, 'The read models can be kept up to date again');
        failing = false;
      } catch (error) {
        if (!failing) logger.error({ err: error }, 'The read models cannot be kept up to date; retrying');
        failing = true;
      }
      await state.change(tickMs, signal).catch(() => {});
    }
    await upkeep.stop();
  }

  return {
    readModels,
    status: readModels.status,
    readable: readModels.readable,
    start() {
      running ??= run();
    },
    async stop() {
      closing.abort();
      await running;
      await readModels.close();
    },
  };
}
