import { setTimeout as delay } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { BaseLogger } from 'pino';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type {
  Checkpoint,
  FailingReadModel,
  OperatedDocumentStore,
  Projected,
} from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { SerialQueue } from '../event-loop/serial-queue.ts';
import type { EventStore, Position, StoredEvent } from '../event-store/event-store.ts';
import { TRUST_MS } from '../read-models/current-generation.ts';
import { collectionOf, type GenerationId, START } from '../read-models/generations.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { createTarget, fold, foldInto, ProjectionFailed, type Target, written } from './fold.ts';
import { readSkippedEvents } from './skipped-events.ts';

/** Events that a build folds at once. */
const BUILD_BATCH = 5_000;
/** Events that a lagging generation folds at once. More would be faster but block the process for longer. */
const CATCH_UP_BATCH = 1_000;
const RETRY = { retries: Number.POSITIVE_INFINITY, minTimeout: 100, maxTimeout: 5_000 } as const;
/** Pauses before a failing read model is tried again; the last one repeats. */
const RETRY_FAILING_MS = [500, 1_000, 2_000, 5_000] as const;
/** Log a failure at the first attempt and then every this many attempts, about once a minute. */
const LOG_EVERY_ATTEMPTS = 12;
/** How often the progress of a build is logged. */
const LOG_EVERY_MS = 10_000;

export type GenerationDeps = {
  readonly events: Pick<EventStore, 'subscribe' | 'readAll' | 'readStream'>;
  readonly documents: OperatedDocumentStore;
  readonly projections: readonly AnyProjection[];
  readonly logger: Pick<BaseLogger, 'info' | 'error'>;
  readonly signal: AbortSignal;
  /** Whether this process may still write. */
  readonly isHeld: () => boolean;
  /** Events that a build folds at once. Default 5,000. */
  readonly buildBatch?: number | undefined;
  /** Called with each new checkpoint, once readers see what it covers. */
  readonly reached?: (checkpoint: Checkpoint) => void;
};

/** A generation that this process writes. */
export type OpenGeneration = Awaited<ReturnType<typeof openGeneration>>;

/**
 * Why a generation is opened. While it is built, no process reads it, and its indexes are made last. A rebuild ends with the first failure:
 * the live generation stays in use.
 */
type Purpose = 'build' | 'rebuild' | 'follow';

/** Opens a generation at its checkpoint. */
export async function openGeneration(deps: GenerationDeps, id: GenerationId, purpose: Purpose) {
  const { events, documents, projections, logger, signal, isHeld, reached, buildBatch = BUILD_BATCH } = deps;
  const turns = new SerialQueue();
  const stored = (await documents.checkpoints([id])).get(id);
  let at: Checkpoint = stored ?? START;

  async function openTarget(projection: AnyProjection): Promise<Target> {
    const collection = collectionOf(projection, id);
    const isRead = purpose === 'follow';
    const opened = isRead ? documents.open<Row>(collection) : documents.openWithoutIndexes<Row>(collection);
    return createTarget(projection, await opened, await readSkippedEvents(events, projection));
  }

  const isFailing = ({ name }: AnyProjection): boolean => at.failing.some((each) => each.name === name);
  let targets = await Promise.all(projections.filter((each) => !isFailing(each)).map(openTarget));

  /** @throws {Fenced} if another process has moved the checkpoint */
  async function store(next: Checkpoint, writes: ReadonlyMap<string, readonly Projected<Row>[]> = new Map()) {
    if (!isHeld()) throw new Fenced(id);
    const isNext = await documents.project(id, writes, { ...next, after: at.position }, () => {
      faultPoint('read models stored, not answered');
      // Commands are answered, and the checkpoint moved, only for what was written before another process could project: it does not
      // know what is written later (docs/decisions/read-models.md).
      if (!isHeld()) throw new Fenced(id);
      reached?.(next);
    });
    if (!isNext) throw new Fenced(id);
    at = next;
  }

  // A generation without a checkpoint counts as lost.
  if (stored === undefined) await store(START);

  /**
   * Takes read models that fail out of the pass. Every process refuses to read them before the checkpoint passes the event, so no
   * answer shows their old documents.
   */
  async function leave(failures: ReadonlyMap<Target, ProjectionFailed>): Promise<void> {
    const failing = Array.from(failures, ([{ projection }, error]): FailingReadModel => {
      if (purpose === 'rebuild') throw error;
      logger.error({ err: error, readModel: projection.name, attempts: 1 }, FAILS);
      const { message, event } = error;
      return { name: projection.name, position: at.position, message, attempts: 1, ...defined({ event }) };
    });
    await store({ ...at, failing: [...at.failing, ...failing] });
    targets = targets.filter((target) => !failures.has(target));
    if (purpose !== 'follow') return;
    failing.forEach(retryLater);
    await untilRefused();
  }

  /** Resolves once every process has noticed which read models fail, so that it refuses to read them. */
  const untilRefused = () => delay(TRUST_MS, undefined, { signal });

  const changedIn = (some: readonly Target[]) =>
    new Map(
      some.flatMap(({ projection, changed }) => (changed.size === 0 ? [] : [[projection.name, [...changed.values()]]])),
    );

  /** The read models whose documents cannot be written, unless that holds for all: then the store is unavailable. */
  async function unwritable(): Promise<ReadonlyMap<Target, ProjectionFailed>> {
    const failures = new Map<Target, ProjectionFailed>();
    const changed = targets.filter((target) => target.changed.size > 0);
    for (const target of changed) {
      const write = target.documents.project([...target.changed.values()]);
      await write.catch((error) => failures.set(target, new ProjectionFailed(target.projection, undefined, error)));
    }
    return failures.size < changed.length ? failures : new Map();
  }

  async function pass(batch: readonly StoredEvent[], position: Position): Promise<void> {
    const failures = await fold(targets, batch);
    for (const { cause } of failures.values()) if (cause instanceof Unavailable) throw cause;
    if (failures.size > 0) await leave(failures);
    faultPoint('folded, not stored');
    const next = () => ({ ...at, position, events: at.events + batch.length });
    try {
      await store(next(), changedIn(targets));
    } catch (error) {
      const alone = error instanceof Fenced || error instanceof Unavailable ? undefined : await unwritable();
      if (alone === undefined || alone.size === 0) throw error;
      await leave(alone);
      await store(next(), changedIn(targets));
    }
    for (const target of targets) written(target);
  }

  /**
   * Folds the log from the checkpoint on.
   * @param until `caught up`, or `stopped`: the signal is aborted
   * @param size how many events to fold at once before it has caught up
   */
  async function run(until: 'caught up' | 'stopped', size: number): Promise<void> {
    let read: StoredEvent[] = [];
    let hasCaughtUp = false;
    for await (const batch of events.subscribe({ after: at.position, signal })) {
      for (const event of batch.events) read.push(event);
      hasCaughtUp ||= batch.caughtUp;
      if (!hasCaughtUp && read.length < size) continue;
      const all = read;
      read = [];
      if (batch.position > at.position) await turns.run('pass', () => pass(all, batch.position));
      if (hasCaughtUp && until === 'caught up') return;
    }
    signal.throwIfAborted();
  }

  /** Lets a failing read model catch up from its own position, and join the pass again. */
  async function retry(failing: FailingReadModel): Promise<void> {
    const projection = projections.find(({ name }) => name === failing.name);
    if (projection === undefined) return;
    let { position } = failing;
    const others = () => at.failing.filter(({ name }) => name !== failing.name);
    try {
      const target = await openTarget(projection);
      const catchUp = async (): Promise<void> => {
        const end = at.position;
        for await (const page of inPages(upTo(events.readAll({ after: position }), end), CATCH_UP_BATCH)) {
          if (!isHeld()) throw new Fenced(id);
          await foldInto(target, page);
        }
        position = end;
      };
      await catchUp();
      // What has arrived meanwhile is short.
      await turns.run('pass', async () => {
        await catchUp();
        await store({ ...at, failing: others() });
        targets = [...targets, target];
      });
      logger.info({ readModel: failing.name }, 'A read model that failed has recovered');
    } catch (error) {
      if (error instanceof Fenced || signal.aborted) return;
      const attempts = failing.attempts + 1;
      if (attempts % LOG_EVERY_ATTEMPTS === 0) logger.error({ err: error, readModel: failing.name, attempts }, FAILS);
      const message = error instanceof Error ? error.message : String(error);
      const again = { ...failing, message, attempts };
      await turns.run('pass', () => store({ ...at, failing: [...others(), again] }));
      retryLater(again);
    }
  }

  const timers = new Set<NodeJS.Timeout>();
  const retrying = new Set<Promise<unknown>>();
  function retryLater(failing: FailingReadModel): void {
    const pauseMs = RETRY_FAILING_MS[failing.attempts - 1] ?? RETRY_FAILING_MS.at(-1);
    const timer = setTimeout(() => {
      timers.delete(timer);
      const attempt = retry(failing).catch(() => retryLater(failing));
      retrying.add(attempt);
      void attempt.finally(() => retrying.delete(attempt));
    }, pauseMs);
    timers.add(timer.unref());
  }

  return {
    id,
    checkpoint: () => at,

    /** Folds the log to its end, in large batches, and then makes the indexes. An interrupted build continues at its checkpoint. */
    async build(): Promise<void> {
      const log = () => logger.info({ generation: id, eventsDone: at.events }, 'Building read models');
      const progress = setInterval(log, LOG_EVERY_MS);
      try {
        await run('caught up', buildBatch);
        // A stopping process does not wait for the indexes of a large collection; the next build makes those that are missing.
        for (const projection of projections)
          await Promise.race([documents.makeIndexes(collectionOf(projection, id)), aborted(signal)]);
        await run('caught up', buildBatch);
      } finally {
        clearInterval(progress);
      }
    },

    /** Follows the log until the signal is aborted. @throws {Fenced} */
    async follow(): Promise<void> {
      const endCache = documents.cacheGeneration(id, isHeld);
      at.failing.forEach(retryLater);
      try {
        // The process that stored the failures may have died before that.
        if (at.failing.length > 0) await untilRefused();
        await pRetry(() => run('stopped', CATCH_UP_BATCH).catch(wrapped), {
          ...RETRY,
          signal,
          shouldRetry: ({ error }) => !signal.aborted && !(error instanceof Fenced),
          onFailedAttempt: ({ error, attemptNumber }) => {
            if (signal.aborted || error instanceof Fenced) return;
            logger.error({ err: error.cause, attempts: attemptNumber }, 'Projecting was interrupted; retrying');
          },
        });
      } finally {
        endCache();
        for (const timer of timers) clearTimeout(timer);
        await Promise.all(retrying);
      }
    },
  };
}

const FAILS = 'A read model fails; the others continue';

/** Rejects once the signal is aborted. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.throwIfAborted();
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/** Events up to and including a position. */
export async function* upTo(events: AsyncIterable<StoredEvent>, end: Position): AsyncGenerator<StoredEvent> {
  for await (const event of events) {
    if (event.position > end) return;
    yield event;
  }
}

/** p-retry does not retry a `TypeError`. */
function wrapped(error: unknown): never {
  throw error instanceof Fenced ? error : new Error('Projecting was interrupted', { cause: error });
}

/** Another process has moved the checkpoint, or may do so. */
export class Fenced extends Error {
  constructor(id: GenerationId) {
    super(`Another process keeps the read models ${id} up to date`);
    this.name = 'Fenced';
  }
}
