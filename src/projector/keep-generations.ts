import type { BaseLogger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { roomProblem } from '../document-store/room.ts';
import { untilNext } from '../event-loop/rounds.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import type { RunningRole } from '../leases/role.ts';
import { type CurrentGeneration, TRUST_MS } from '../read-models/current-generation.ts';
import {
  type Catalogue,
  entriesOf,
  type GenerationId,
  type GenerationState,
  generationsOf,
  idIn,
} from '../read-models/generations.ts';
import { openReadModelLeases, rebuildLease } from '../read-models/leases.ts';
import type { NodeStatus } from '../read-models/node-status.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { createCleanup } from './cleanup.ts';
import { Fenced, type GenerationDeps, type OpenGeneration, openGeneration } from './follow.ts';

export type GenerationsDeps = {
  readonly events: EventStore;
  readonly documents: OperatedDocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
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
/** How many ticks to wait while this process only follows its live generation: there is nothing to begin or to end then. */
const SETTLED_TICKS = 4;
const RETIRE_AFTER_MS = 24 * 3_600_000;
/** Longer than a process may consider a replaced generation live. */
const GRACE_MS = 2 * TRUST_MS;

/** Writes a generation. */
type Writer = {
  readonly stopping: AbortController;
  /** Since when the generation has been in its state, as seen by this process (monotonic). */
  since: { readonly state: GenerationState; readonly at: number };
  open?: OpenGeneration;
  done: Promise<void>;
};

/**
 * Begins, builds, swaps and drops the generations of this release, and folds new events into those that processes read. Runs in the process
 * that holds their lease.
 */
export async function keepGenerations(
  deps: GenerationsDeps & { readonly generations: CurrentGeneration; readonly isHeld: () => boolean },
): Promise<RunningRole> {
  const { events, documents, projections, heartbeats, logger, buildBatch, generations, isHeld } = deps;
  const { tickMs = TICK_MS, graceMs = GRACE_MS, retireAfterMs = RETIRE_AFTER_MS } = deps;
  const { name, read, apply } = generations;
  const leases = await openReadModelLeases(documents, heartbeats);
  const cleanup = createCleanup({ documents, heartbeats, leases, retireAfterMs, logger, read, apply });
  const writers = new Map<GenerationId, Writer>();
  const stopping = new AbortController();
  /** Whether there is only a live generation of this release. */
  let isSettled = false;

  async function tick(): Promise<void> {
    const { document, version } = await read();
    await advance(document);
    await cleanup.tick(version);
  }

  async function advance(now: Catalogue): Promise<void> {
    let next = now;
    if (idIn(next, name, 'live', 'building') === undefined) next = await apply({ type: 'Begun', name });
    const live = idIn(next, name, 'live');
    if (live !== undefined && !writers.has(live) && !(await documents.checkpoints([live])).has(live)) {
      logger.warn({ generation: live }, 'Read models were lost, as after a power failure: building them again');
      next = await apply({ type: 'Lost', id: live });
    }
    isSettled = generationsOf(next, name).every(([, { state }]) => state === 'live');
    const isRebuilding = !isSettled && (await leases.isHeld(rebuildLease(name)));
    for (const [id, { state }] of generationsOf(next, name)) {
      // Another process rebuilds, or has ended while it did.
      const isRebuild = state === 'building' && idIn(next, name, 'live') !== undefined;
      if (isRebuild && !isRebuilding) await apply({ type: 'Dropped', id });
      if (!isRebuild) await write(id, state, live);
    }
    for (const [id, writer] of writers) if (next.generations[id] === undefined) writer.stopping.abort();
  }

  async function write(id: GenerationId, state: GenerationState, live: GenerationId | undefined): Promise<void> {
    const at = performance.now();
    const writer = writers.get(id);
    if (writer === undefined) {
      if (state === 'building') await checkRoom();
      return begin(id, state);
    }
    if (writer.since.state !== state) writer.since = { state, at };
    const elapsedMs = at - writer.since.at;
    if (state === 'joining' && elapsedMs > TRUST_MS && (await isLevel(writer, live))) {
      faultPoint('read model built, not swapped');
      await apply({ type: 'Swapped', id });
      faultPoint('read model swapped, not announced');
      logger.info({ generation: id }, 'Read models rebuilt');
    }
    if (state === 'retired' && elapsedMs > graceMs) await apply({ type: 'Dropped', id });
  }

  function begin(id: GenerationId, state: GenerationState): void {
    const since = { state, at: performance.now() };
    const writer: Writer = { stopping: new AbortController(), since, done: Promise.resolve() };
    writers.set(id, writer);
    writer.done = (state === 'building' ? build(id, writer) : follow(id, writer))
      .catch((error: unknown) => {
        if (!writer.stopping.signal.aborted && !(error instanceof Fenced))
          logger.error({ err: error, generation: id }, 'The read models cannot be kept up to date; retrying');
      })
      // If this process still holds the lease, the next tick begins again at the stored checkpoint.
      .finally(() => writers.delete(id));
  }

  /**
   * Whether a generation has folded every event that the live one has. The live one may be further ahead in a part of the log that holds
   * only events of others: EventStoreDB does not report such a part to every subscription.
   */
  async function isLevel({ open }: Writer, live: GenerationId | undefined): Promise<boolean> {
    const other = live === undefined ? undefined : writers.get(live)?.open;
    if (open === undefined || other === undefined) return false;
    const { position } = other.checkpoint();
    const after = open.checkpoint().position;
    if (after >= position) return true;
    for await (const next of events.readAll({ after, limit: 1 })) return next.position > position;
    return true;
  }

  /** A build needs room on the disk for another copy. The first one of a store is always made. */
  async function checkRoom(): Promise<void> {
    const isFirst = entriesOf((await read()).document).length === 1;
    const problem = isFirst ? undefined : await roomProblem(documents);
    if (problem !== undefined) throw new Error(problem);
  }

  const generationDeps = (id: GenerationId, writer: Writer): GenerationDeps => ({
    events,
    documents,
    projections,
    logger,
    signal: writer.stopping.signal,
    isHeld,
    buildBatch,
    reached: (checkpoint) => generations.reached(id, checkpoint),
  });

  async function build(id: GenerationId, writer: Writer): Promise<void> {
    logger.info({ generation: id }, 'Building read models');
    const opened = await openGeneration(generationDeps(id, writer), id, 'build');
    await opened.build();
    await apply({ type: 'CaughtUp', id });
    logger.info({ generation: id }, 'Read models built');
  }

  async function follow(id: GenerationId, writer: Writer): Promise<void> {
    writer.open = await openGeneration(generationDeps(id, writer), id, 'follow');
    await writer.open.follow();
  }

  async function run(): Promise<void> {
    let isFailing = false;
    while (!stopping.signal.aborted && isHeld()) {
      try {
        await tick();
        if (isFailing) logger.info({}, 'The read models can be kept up to date again');
        isFailing = false;
      } catch (error) {
        if (!isFailing) logger.error({ err: error }, 'The read models cannot be kept up to date; retrying');
        isFailing = true;
      }
      const isQuiet = !isFailing && isSettled && writers.size === 1;
      await untilNext((isQuiet ? SETTLED_TICKS : 1) * tickMs, stopping.signal);
    }
  }
  const running = run();

  return {
    async stop() {
      stopping.abort();
      await running;
      const all = [...writers.values()];
      for (const writer of all) writer.stopping.abort();
      await Promise.all(all.map(({ done }) => done));
      await cleanup.stop();
    },
  };
}
