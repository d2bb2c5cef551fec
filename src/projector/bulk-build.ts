import type { BaseLogger } from 'pino';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { BulkLoad, Checkpoint } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { EventStore, StoredEvent } from '../event-store/event-store.ts';
import type { ReadModelId } from '../read-models/catalogue.ts';
import { createEstimate } from '../runtime/estimate.ts';
import { evolve, Fenced, type Folding, failureOf, type Known, lookUp, take } from './fold.ts';

/** A collection that is being built in bulk. */
export type Building = {
  readonly id: ReadModelId;
  readonly collection: string;
  readonly projection: AnyProjection;
  /** Ids of the events that an operator has excluded. */
  readonly skipped: ReadonlySet<string>;
  readonly load: BulkLoad<Row>;
};

/**
 * Changed documents per step, over all collections: about 10 MB for two steps. In larger steps, V8 moves most documents to the old
 * generation first, which takes longer than writing some of them twice. A step may grow to twice this size while the previous one
 * is being written.
 */
const STEP_DOCUMENTS = 5_000;
/** The maximum number of events per step, which an interrupted build has to read again. */
const STEP_EVENTS = 200_000;
/** How often progress is logged. */
const LOG_EVERY_MS = 10_000;

/** The size of a step; see the defaults. */
export type StepOptions = { readonly stepDocuments?: number };

type BulkBuildDeps = {
  readonly events: Pick<EventStore, 'subscribe'>;
  readonly signal: AbortSignal;
  readonly logger: Pick<BaseLogger, 'info'>;
  readonly step: StepOptions;
  /** Whether this process should still build the collection. */
  readonly isWanted: (building: Building) => boolean;
  /** Called with each stored checkpoint. @returns the total number of events, if known */
  readonly reached: (buildings: readonly Building[], checkpoint: Checkpoint) => number;
  /** Records that a collection failed on an event or cannot be written. */
  readonly failed: (building: Building, failure: Error) => Promise<void>;
};

/** The state of a build: the documents of this step, and of the previous one, which may not be stored yet. */
type Build = Folding & {
  readonly of: Building;
  /** Whether the store may hold documents that are not in memory. */
  hasStored: boolean;
};

/**
 * Folds the log into collections without readers, up to its end. Works in memory in large steps; each step writes a changed
 * document once while the next one is folded. Then creates the indexes (docs/decisions/read-models.md). Stores the checkpoint with
 * every step, so an interrupted build resumes there. Yields to other work every few milliseconds.
 * @returns the collections that are built, and their checkpoint
 */
export async function bulkBuild(
  { events, signal, logger, step: { stepDocuments = STEP_DOCUMENTS }, isWanted, reached, failed }: BulkBuildDeps,
  buildings: readonly Building[],
  from: Checkpoint,
): Promise<{ readonly checkpoint: Checkpoint; readonly built: readonly Building[] }> {
  let builds = buildings.map(
    (of): Build => ({
      of,
      projection: of.projection,
      skipped: of.skipped,
      known: new Map(),
      changed: new Map(),
      read: (keys) => of.load.projected(keys),
      hasStored: from.events > 0,
    }),
  );
  let read = from;
  let stored = from;
  let writing: Promise<void> = Promise.resolve();
  let isWriting = false;
  let loggedAt = performance.now();
  const estimate = createEstimate();

  async function fail(build: Build, failure: Error): Promise<void> {
    builds = builds.filter((each) => each !== build);
    await failed(build.of, failure);
  }

  /** Folds events into the documents in memory. A failing build does not affect the others. */
  async function fold(batch: readonly StoredEvent[]): Promise<void> {
    for (const [build, taken] of take(builds, batch)) {
      try {
        if (!Array.isArray(taken)) throw taken;
        if (build.hasStored) await lookUp(build, taken);
        evolve(build, taken);
      } catch (error) {
        await fail(build, failureOf(build, error));
      }
    }
  }

  async function writeStep(to: Checkpoint): Promise<void> {
    const next = { ...to, after: stored.position };
    const steps = builds.map((build) => {
      const step = [...build.changed.values()];
      build.known = new Map<string, Known>(build.changed);
      build.changed = new Map();
      build.hasStored ||= step.length > 0;
      return { build, step };
    });
    await Promise.all(
      steps.map(async ({ build, step }) => {
        const { load, projection } = build.of;
        try {
          if (!(await load.write(step, next))) throw new Fenced(projection);
        } catch (error) {
          await fail(build, error instanceof Fenced ? error : failureOf(build, error));
        }
      }),
    );
    const left = steps.flatMap(({ build }) => (builds.includes(build) ? build.of : []));
    if (left.length === 0) return;
    stored = to;
    const eventsTotal = reached(left, to);
    estimate.note(to.events);
    if (performance.now() - loggedAt < LOG_EVERY_MS) return;
    loggedAt = performance.now();
    const progress = defined({ eventsDone: to.events, eventsTotal, secondsLeft: estimate.secondsLeft(eventsTotal) });
    logger.info({ readModels: left.map(({ id }) => id), ...progress }, 'Building read models');
  }

  async function flush(): Promise<void> {
    await writing;
    isWriting = true;
    writing = writeStep(read).finally(() => {
      isWriting = false;
    });
    // Awaited at the next step. Prevents an unhandled rejection until then.
    writing.catch(() => {});
  }

  for await (const batch of events.subscribe({ after: read.position, signal })) {
    builds = builds.filter((build) => isWanted(build.of));
    if (builds.length === 0) break;
    await fold(batch.events);
    read = { position: batch.position, events: read.events + batch.events.length };
    const changed = builds.reduce((sum, each) => sum + each.changed.size, 0);
    const isFull = changed >= (isWriting ? 2 * stepDocuments : stepDocuments);
    if (batch.caughtUp || isFull || read.events - stored.events >= STEP_EVENTS) await flush();
    if (batch.caughtUp) break;
  }
  await writing;
  if (signal.aborted) return { checkpoint: stored, built: [] };
  const finished = Promise.all(
    builds.map(async (build) => {
      try {
        await build.of.load.finish();
      } catch (error) {
        if (!signal.aborted) await fail(build, failureOf(build, error));
      }
    }),
  );
  // A stopping process does not wait for the indexes of a large collection; another one creates the missing ones.
  await Promise.race([finished, new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))]);
  return { checkpoint: stored, built: signal.aborted ? [] : builds.map(({ of }) => of).filter(isWanted) };
}
