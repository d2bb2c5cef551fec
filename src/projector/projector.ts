import type { BaseLogger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { roomProblem } from '../document-store/room.ts';
import type { OperatedEventStore } from '../event-store/event-store.ts';
import { askLog } from '../event-store/outage.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import type { Lease } from '../leases/lease.ts';
import { TRUST_MS } from '../read-models/current-generation.ts';
import {
  type Catalogue,
  type CatalogueEvent,
  entriesOf,
  type Generation,
  type GenerationId,
  generationName,
  generationsOf,
  idIn,
  openCatalogue,
  projectorLease,
  rebuildLease,
} from '../read-models/generations.ts';
import type { NodeStatus } from '../read-models/node-status.ts';
import { openReadModelLeases, openReadModels } from '../read-models/read-models.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { untilNext } from '../runtime/rounds.ts';
import { createCleanup } from './cleanup.ts';
import { Fenced, type OpenGeneration, openGeneration } from './follow.ts';

export type ProjectorDeps = Pick<Parameters<typeof openReadModels>[0], 'catchUpWithinMs'> & {
  readonly events: OperatedEventStore;
  readonly documents: OperatedDocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
  /** A `tool`, such as the command line, keeps read models up to date only while no service runs. Default `service`. */
  readonly kind?: NodeStatus['kind'];
  /** How long an unused generation is kept, in milliseconds. Default 24 h. */
  readonly retireAfterMs?: number;
  /** How long a replaced generation is kept up to date, in milliseconds. Default 2 s. */
  readonly graceMs?: number;
  /** Events that a build folds at once. Default 5,000. */
  readonly buildBatch?: number;
  /** How often to check for work, in milliseconds. Default 250. */
  readonly tickMs?: number;
};

const TICK_MS = 250;
/** How many ticks to wait while this process only follows its live generation: there is nothing to take over then. */
const TICKS_WHILE_HOLDING = 4;
const RETIRE_AFTER_MS = 24 * 3_600_000;
/** Longer than a process may consider a replaced generation live. */
const GRACE_MS = 2 * TRUST_MS;
/** The interval of log probes, and their timeout. */
const PROBE_EVERY_MS = 1_000;
const PROBE_WITHIN_MS = 2_000;
/** Consecutive failed probes before this process releases its lease. */
const MAX_FAILED_PROBES = 3;

export type Projector = Awaited<ReturnType<typeof openProjector>>;

/** A generation that this process writes. */
type Written = {
  readonly stopping: AbortController;
  /** Since when it has been in its state, as seen by this process (monotonic). */
  since: { readonly state: Generation['state']; readonly at: number };
  open?: OpenGeneration;
  done: Promise<void>;
};

/** Opens the read models of this process, and the projector that keeps them up to date once started. */
export async function openProjector(deps: ProjectorDeps) {
  const { events, documents, projections, heartbeats, logger, kind = 'service', tickMs = TICK_MS } = deps;
  const { retireAfterMs = RETIRE_AFTER_MS, graceMs = GRACE_MS } = deps;
  const name = generationName(projections);
  const closing = new AbortController();
  const readModels = await openReadModels(deps);
  const catalogue = await openCatalogue(documents);
  const leases = await openReadModelLeases({ documents, heartbeats });
  const written = new Map<GenerationId, Written>();
  const cleanup = createCleanup({ documents, heartbeats, retireAfterMs, logger, read: catalogue.read, apply });
  let running: Promise<void> | undefined;
  let lease: Lease | undefined;
  /** Whether the live generation was the only one of this release at the last tick. */
  let isAlone = false;
  const log = { probedAt: Number.NEGATIVE_INFINITY, failedProbes: 0 };

  const isHeld = (): boolean => lease?.isHeld() === true;

  async function apply(event: CatalogueEvent): Promise<Catalogue> {
    const stored = await catalogue.apply(event);
    await readModels.changed(stored);
    return stored.document;
  }

  async function tick(): Promise<void> {
    if (lease !== undefined && !isHeld()) {
      logger.warn({}, 'The lease of the read models was lost: another process may take over');
      await release();
    }
    probe();
    if (log.failedProbes >= MAX_FAILED_PROBES || (await mustYield())) return release();
    if (lease === undefined) {
      lease = await leases.tryAcquire(projectorLease(name));
      if (lease === undefined) return;
      logger.info({ generation: name }, 'Keeping read models up to date');
    }
    const { document, version } = await catalogue.read();
    await advance(document);
    await cleanup.tick(version);
  }

  /** The command line keeps read models up to date only while no service runs. */
  async function mustYield(): Promise<boolean> {
    return kind === 'tool' && (await heartbeats.living()).some(({ status }) => status.kind === 'service');
  }

  /** Begins, swaps and drops generations of this release, and writes those that processes read. */
  async function advance(now: Catalogue): Promise<void> {
    let next = now;
    if (idIn(next, name, 'live', 'building') === undefined) next = await apply({ type: 'Begun', name });
    const live = idIn(next, name, 'live');
    if (live !== undefined && !written.has(live) && !(await documents.checkpoints([live])).has(live)) {
      logger.warn({ generation: live }, 'Read models were lost, as after a power failure: building them again');
      next = await apply({ type: 'Lost', id: live });
    }
    isAlone = generationsOf(next, name).every(([, { state }]) => state === 'live');
    const isRebuilding = !isAlone && (await leases.isHeld(rebuildLease(name)));
    for (const [id, { state }] of generationsOf(next, name)) {
      // Another process rebuilds, or has ended while it did.
      const isRebuild = state === 'building' && idIn(next, name, 'live') !== undefined;
      if (isRebuild && !isRebuilding) await apply({ type: 'Dropped', id });
      if (!isRebuild) await write(id, state, live);
    }
    for (const [id, { stopping }] of written) if (next.generations[id] === undefined) stopping.abort();
  }

  async function write(id: GenerationId, state: Generation['state'], live: GenerationId | undefined): Promise<void> {
    const at = performance.now();
    const present = written.get(id);
    if (present === undefined) {
      if (state === 'building') await checkRoom();
      const stopping = new AbortController();
      const begun: Written = { stopping, since: { state, at }, done: Promise.resolve() };
      written.set(id, begun);
      begun.done = (state === 'building' ? build(id, begun) : follow(id, begun))
        .catch((error: unknown) => {
          if (!stopping.signal.aborted && !(error instanceof Fenced))
            logger.error({ err: error, generation: id }, 'The read models cannot be kept up to date; retrying');
        })
        // If this process still holds the lease, the next tick begins again at the stored checkpoint.
        .finally(() => written.delete(id));
      return;
    }
    if (present.since.state !== state) present.since = { state, at };
    const elapsedMs = at - present.since.at;
    if (state === 'joining' && elapsedMs > TRUST_MS && isLevel(present, live)) {
      faultPoint('read model built, not swapped');
      await apply({ type: 'Swapped', id });
      faultPoint('read model swapped, not announced');
      logger.info({ generation: id }, 'Read models rebuilt');
    }
    if (state === 'retired' && elapsedMs > graceMs) await apply({ type: 'Dropped', id });
  }

  /** Whether a generation has come as far as the live one. */
  function isLevel({ open }: Written, live: GenerationId | undefined): boolean {
    const other = live === undefined ? undefined : written.get(live)?.open;
    return open !== undefined && other !== undefined && open.checkpoint().position >= other.checkpoint().position;
  }

  /** A build needs room on the disk for another copy. The first one of a store is always made. */
  async function checkRoom(): Promise<void> {
    const isFirst = entriesOf((await catalogue.read()).document).length === 1;
    const problem = isFirst ? undefined : await roomProblem(documents);
    if (problem !== undefined) throw new Error(problem);
  }

  const generationDeps = (id: GenerationId, { signal }: AbortController) => ({
    ...{ events, documents, projections, logger, signal, isHeld, buildBatch: deps.buildBatch },
    reached: (checkpoint: Parameters<typeof readModels.reached>[1]) => readModels.reached(id, checkpoint),
  });

  async function build(id: GenerationId, { stopping }: Written): Promise<void> {
    logger.info({ generation: id }, 'Building read models');
    const opened = await openGeneration(generationDeps(id, stopping), id, 'build');
    await opened.build();
    await apply({ type: 'CaughtUp', id });
    logger.info({ generation: id }, 'Read models built');
  }

  async function follow(id: GenerationId, begun: Written): Promise<void> {
    begun.open = await openGeneration(generationDeps(id, begun.stopping), id, 'follow');
    await begun.open.follow();
  }

  /** Stops writing, so that another process can take over at once. */
  async function release(): Promise<void> {
    const all = [...written.values()];
    for (const { stopping } of all) stopping.abort();
    await Promise.all(all.map(({ done }) => done));
    const held = lease;
    lease = undefined;
    await held?.release();
  }

  /** Probes the log in the background. A process that cannot reach it releases its lease. */
  function probe(): void {
    if (performance.now() - log.probedAt < PROBE_EVERY_MS) return;
    log.probedAt = Number.POSITIVE_INFINITY;
    askLog(events, PROBE_WITHIN_MS)
      .then(
        () => {
          log.failedProbes = 0;
        },
        (err: unknown) => {
          log.failedProbes += 1;
          if (log.failedProbes === MAX_FAILED_PROBES)
            logger.warn({ err }, 'The log cannot be reached: others may keep the read models up to date');
        },
      )
      .finally(() => {
        log.probedAt = performance.now();
      });
  }

  /** Whether this process follows the live generation, and there is no other of this release. */
  const isSettled = (): boolean => lease !== undefined && written.size === 1 && isAlone;

  async function run(): Promise<void> {
    const { signal } = closing;
    let failing = false;
    while (!signal.aborted) {
      try {
        await tick();
        if (failing) logger.info({}, 'The read models can be kept up to date again');
        failing = false;
      } catch (error) {
        if (!failing) logger.error({ err: error }, 'The read models cannot be kept up to date; retrying');
        failing = true;
      }
      await untilNext((!failing && isSettled() ? TICKS_WHILE_HOLDING : 1) * tickMs, signal);
    }
    // If this fails, the lease ends with the heartbeat.
    await release().catch(() => {});
    await cleanup.stop();
  }

  return {
    /** Usable whether or not this process projects. */
    readModels,
    /** The state of the read models, also of those that another process projects; see `LiveReadModels`. */
    status: readModels.status,
    readable: readModels.readable,
    /** Whether this process keeps the read models up to date. */
    isActive: isHeld,

    /**
     * Keeps read models up to date while this process holds the lease of its release: builds them and folds new events into them.
     * Logs failures, shows them in the status and retries forever.
     */
    start(): void {
      if (running !== undefined) return;
      heartbeats.announce({ projects: true });
      running = run();
    },
    /** Stops after the current batch, so that another process can take over at once. */
    async stop(): Promise<void> {
      closing.abort();
      await running;
      heartbeats.announce({ projects: false });
      await readModels.close();
    },
  };
}
