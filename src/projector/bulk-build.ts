import type { BaseLogger } from 'pino';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { BulkLoad, Projected } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { Recorded } from '../domain/events.ts';
import { upcast } from '../domain/upcast.ts';
import type { EventStore, StoredEvent } from '../event-store/event-store.ts';
import type { Place, ReadModelId, Written } from '../read-models/state.ts';
import { createEstimate } from '../runtime/estimate.ts';
import { ProjectionFailed } from './fold.ts';
import { isSkipped } from './skipped-events.ts';

/** A collection that is being built in bulk. */
export type Building = {
  readonly id: ReadModelId;
  readonly collection: string;
  readonly projection: AnyProjection;
  /** Ids of events that an operator has told it to skip. */
  readonly skipped: ReadonlySet<string>;
  readonly load: BulkLoad<Row>;
};

/**
 * Changed documents, of all collections, after which a step is written: some 10 MB of memory, for two steps. With more, most of them
 * are moved to the old generation of the heap before they are written, which takes longer than writing some of them twice. While the
 * step before is still being written, as when the threads that do so are only just starting, a step may become twice as long.
 */
const STEP_DOCUMENTS = 5_000;
/** Events after which a step is written in any case: what an interrupted build reads again at most. */
const STEP_EVENTS = 200_000;
/** How often the log says how far a build is. */
const SAID_EVERY_MS = 10_000;

/** The length of a step; see the defaults. */
export type StepOptions = { readonly stepDocuments?: number };

type BulkBuildDeps = {
  readonly events: Pick<EventStore, 'subscribe'>;
  readonly signal: AbortSignal;
  readonly logger: Pick<BaseLogger, 'info'>;
  readonly step: StepOptions;
  /** Whether a collection still is to be built here. */
  readonly isWanted: (building: Building) => boolean;
  /** Stores how far collections are, after their documents. @returns how many events there are, as far as known */
  readonly advance: (collections: readonly string[], place: Place, written: Written) => Promise<number>;
  /** Notes that a collection cannot take an event, or cannot be written. */
  readonly failed: (building: Building, failure: ProjectionFailed) => Promise<void>;
};

/** What a build holds in memory. */
type Build = {
  readonly of: Building;
  /** Documents that this step has changed. */
  current: Map<string, Projected<Row>>;
  /** Those of the step before, which may still be on their way to the disk, and what was read since; absent ones, too. */
  before: Map<string, Projected<Row> | undefined>;
  /** Whether anything that is not in memory may be stored. */
  hasStored: boolean;
};

/**
 * Folds the log into collections that nobody reads yet, up to its end: in memory, in large steps, each of which writes a changed
 * document once while the next one is folded. Then makes their indexes (docs/decisions/read-models.md). The place is stored
 * with every step, so a build that is interrupted goes on from there. Folding and reading give other work of the process a turn
 * every few milliseconds.
 * @returns where the collections are that are built
 */
export async function bulkBuild(
  { events, signal, logger, step: { stepDocuments = STEP_DOCUMENTS }, isWanted, advance, failed }: BulkBuildDeps,
  buildings: readonly Building[],
  from: Place,
): Promise<{ readonly place: Place; readonly built: readonly Building[] }> {
  let builds: Build[] = buildings.map((building) => ({
    of: building,
    current: new Map(),
    before: new Map(),
    hasStored: from.events > 0,
  }));
  let place = from;
  let written = from;
  let writing: Promise<void> = Promise.resolve();
  let isWriting = false;
  let saidAt = performance.now();
  const estimate = createEstimate();

  async function fail(build: Build, failure: ProjectionFailed): Promise<void> {
    builds = builds.filter((each) => each !== build);
    await failed(build.of, failure);
  }

  /** Folds events into the documents in memory; one that cannot take them fails alone. */
  async function fold(batch: readonly StoredEvent[]): Promise<void> {
    for (const { build, taken, failure } of takenBy(builds, batch)) {
      try {
        if (failure !== undefined) throw failure;
        for (let next = 0; next < taken.length; ) {
          next = evolve(build, taken, next);
          if (next < taken.length) await lookUp(build, taken.slice(next));
        }
      } catch (error) {
        await fail(build, failureOf(build, error));
      }
    }
  }

  async function writeStep(at: Place): Promise<void> {
    const last: Record<string, string> = {};
    const steps = builds.map((build) => {
      const step = [...build.current.values()];
      build.before = build.current;
      build.current = new Map();
      build.hasStored ||= step.length > 0;
      return { build, step };
    });
    await Promise.all(
      steps.map(async ({ build, step }) => {
        try {
          // One that fails once may have met a store in trouble; what it has written is not written again.
          if (step.length > 0) await build.of.load.write(step).catch(() => build.of.load.write(step));
          for (const { position } of step)
            if (position > (last[build.of.collection] ?? '')) last[build.of.collection] = position;
        } catch (error) {
          await fail(build, failureOf(build, error));
        }
      }),
    );
    const left = steps.flatMap(({ build }) => (builds.includes(build) ? build.of : []));
    if (left.length === 0) return;
    const total = await advance(
      left.map(({ collection }) => collection),
      at,
      last,
    );
    written = at;
    estimate.note(at.events);
    if (performance.now() - saidAt < SAID_EVERY_MS) return;
    saidAt = performance.now();
    const readModels = left.map(({ id }) => id);
    const progress = defined({ eventsDone: at.events, eventsTotal: total, secondsLeft: estimate.secondsLeft(total) });
    logger.info({ readModels, ...progress }, 'Building read models');
  }

  async function flush(): Promise<void> {
    await writing;
    isWriting = true;
    writing = writeStep(place).finally(() => {
      isWriting = false;
    });
    // Awaited at the next step: until then it is not unhandled.
    writing.catch(() => {});
  }

  for await (const batch of events.subscribe({ after: place.position, signal })) {
    builds = builds.filter((build) => isWanted(build.of));
    if (builds.length === 0) break;
    await fold(batch.events);
    place = { position: batch.position, events: place.events + batch.events.length };
    const changed = builds.reduce((sum, { current }) => sum + current.size, 0);
    const isFull = changed >= (isWriting ? 2 * stepDocuments : stepDocuments);
    if (batch.caughtUp || isFull || place.events - written.events >= STEP_EVENTS) await flush();
    if (batch.caughtUp) break;
  }
  await writing;
  if (signal.aborted) return { place: written, built: [] };
  const finished = Promise.all(
    builds.map(async (build) => {
      try {
        await build.of.load.finish();
      } catch (error) {
        if (!signal.aborted) await fail(build, failureOf(build, error));
      }
    }),
  );
  // A process that stops does not wait for the index of a large collection: another one makes what is missing.
  await Promise.race([finished, new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))]);
  return { place: written, built: signal.aborted ? [] : builds.map((build) => build.of).filter(isWanted) };
}

/** An event that a projection handles, and the key of its document. */
type Taken = { readonly key: string; readonly event: Recorded };
type TakenBy = { readonly build: Build; readonly taken: Taken[]; failure?: ProjectionFailed };

/** What each projection handles of a batch, in the order of the log; up to the event that it fails on, if any. */
function takenBy(builds: readonly Build[], batch: readonly StoredEvent[]): TakenBy[] {
  const all = builds.map((build): TakenBy => ({ build, taken: [] }));
  // Asked once per event, and not once more for each projection.
  const byType = new Map<string, TakenBy[]>();
  for (const each of all)
    for (const type of each.build.of.projection.types) byType.set(type, [...(byType.get(type) ?? []), each]);
  for (const stored of batch) {
    for (const each of byType.get(stored.type) ?? []) {
      const { projection, skipped } = each.build.of;
      if (each.failure !== undefined || isSkipped(skipped, stored)) continue;
      try {
        const event = upcast(stored);
        each.taken.push({ key: projection.key(event), event });
      } catch (error) {
        each.failure = new ProjectionFailed(projection, stored, error);
      }
    }
  }
  return all;
}

/** Reads the documents that are not in memory, all at once, except those that their next event makes anew. */
async function lookUp({ current, before, of: { load, projection } }: Build, taken: readonly Taken[]): Promise<void> {
  const makesAnew: ReadonlySet<string> = new Set(projection.anew);
  const unknown = new Set<string>();
  const anew = new Set<string>();
  for (const { key, event } of taken) {
    if (current.has(key) || before.has(key) || anew.has(key)) continue;
    if (makesAnew.has(event.type)) anew.add(key);
    else unknown.add(key);
  }
  const found = await load.projected([...unknown]);
  for (const key of unknown) before.set(key, found.get(key));
}

/**
 * Folds events into the documents in memory, up to one whose document has to be read first.
 * @param from the number of the first event
 * @returns the number of the one that it stopped at
 * @throws {ProjectionFailed} if the projection throws
 */
function evolve(
  { current, before, hasStored, of: { projection } }: Build,
  taken: readonly Taken[],
  from: number,
): number {
  let at = from;
  try {
    for (let next = taken[at]; next !== undefined; next = taken[++at]) {
      const { key, event } = next;
      const { position } = event;
      const known = current.get(key) ?? before.get(key);
      const isUnread = known === undefined && projection.anew.includes(event.type);
      if (known === undefined && !isUnread && hasStored && !before.has(key)) return at;
      if (known !== undefined && known.position >= position) continue;
      const document = projection.evolve(known?.document, event);
      if (isUnread || document !== known?.document) current.set(key, { key, position, document });
    }
    return at;
  } catch (error) {
    throw new ProjectionFailed(projection, taken[at]?.event, error);
  }
}

const failureOf = ({ of: { projection } }: Build, error: unknown): ProjectionFailed =>
  error instanceof ProjectionFailed ? error : new ProjectionFailed(projection, undefined, error);
