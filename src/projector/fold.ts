import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Checkpoint, Documents, Projected } from '../document-store/document-store.ts';
import type { EventType, Recorded } from '../domain/events.ts';
import { type UntypedEvent, upcast } from '../domain/upcast.ts';
import { LOG_START } from '../event-store/event-store.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { yieldEvery } from '../runtime/slices.ts';
import { isSkipped } from './skipped-events.ts';

/** Documents cached per target, so that one touched by many events is read only once. */
const CACHED_DOCUMENTS = 10_000;

/** How long a fold may hold the event loop, in milliseconds, and how many events it folds before it looks. */
const FOLD_FOR_MS = 4;
const FOLD_EVENTS = 64;

/** A document in memory. Without a position if its key was never written. */
export type Known = { readonly position?: string | undefined; readonly document?: Row | undefined };

/** A projection with its cached documents and the read for others. */
export type Folding = {
  readonly projection: AnyProjection;
  /** Ids of the events that an operator has excluded. */
  readonly skipped: ReadonlySet<string>;
  /**
   * The stored state, including pending writes. Correct while every event passes through here, even if other processes write, too.
   */
  known: { get(key: string): Known | undefined; set(key: string, known: Known): unknown };
  /** Changed documents not yet written. */
  changed: Map<string, Projected<Row>>;
  readonly read: Documents<Row>['projected'];
};

/** An event that a projection handles, and the key of its document. */
type Taken = { readonly key: string; readonly event: Recorded };

/** The events of a batch that each projection handles, in log order. A projection that fails on an event handles none. */
export function take<F extends Folding>(
  foldings: readonly F[],
  batch: readonly UntypedEvent[],
): Map<F, Taken[] | ProjectionFailed> {
  const all = new Map<F, Taken[] | ProjectionFailed>(foldings.map((folding) => [folding, []]));
  // One lookup per event instead of one per projection.
  const byType = new Map<string, F[]>();
  for (const folding of foldings)
    for (const type of folding.projection.types) {
      const others = byType.get(type);
      if (others === undefined) byType.set(type, [folding]);
      else others.push(folding);
    }
  for (const stored of batch) {
    let event: Recorded | undefined;
    for (const folding of byType.get(stored.type) ?? []) {
      const taken = all.get(folding);
      if (!Array.isArray(taken) || isSkipped(folding.skipped, stored)) continue;
      try {
        event ??= upcast(stored);
        taken.push({ key: folding.projection.key(event), event });
      } catch (error) {
        all.set(folding, new ProjectionFailed(folding.projection, stored, error));
      }
    }
  }
  return all;
}

/** Reads uncached documents, except those that their first event creates. */
export async function lookUp({ projection, known, changed, read }: Folding, taken: readonly Taken[]): Promise<void> {
  const unknown = new Set<string>();
  const replaced = new Set<string>();
  for (const { key, event } of taken) {
    if (changed.has(key) || replaced.has(key) || unknown.has(key) || known.get(key) !== undefined) continue;
    (replaces(projection, event) ? replaced : unknown).add(key);
  }
  if (unknown.size === 0) return;
  const found = await read([...unknown]);
  for (const key of unknown) known.set(key, found.get(key) ?? {});
}

/**
 * Folds events into the documents in memory. Events that a document already reflects are skipped, so any batch may be repeated,
 * overlap another, or be folded by two projectors at once (docs/decisions/read-models.md).
 * @throws {ProjectionFailed} if the projection throws
 */
export function evolve({ projection, known, changed }: Folding, taken: readonly Taken[]): void {
  for (const { key, event } of taken) {
    const unwritten = changed.get(key);
    const before = unwritten ?? known.get(key);
    if (before?.position !== undefined && before.position >= event.position) continue;
    const isFirst = before === undefined;
    try {
      const document = projection.evolve(before?.document, event);
      if (document === before?.document && !(isFirst && replaces(projection, event))) continue;
      changed.set(key, { key, position: event.position, document, isNew: isFirst || unwritten?.isNew === true });
    } catch (error) {
      throw new ProjectionFailed(projection, event, error);
    }
  }
}

/**
 * Whether an event creates its document, so that its former state does not matter. If the document already reflects the event, the
 * write has no effect.
 */
const replaces = ({ createdBy }: AnyProjection, { type }: { readonly type: EventType }): boolean =>
  createdBy.includes(type);

/** A projection whose documents follow the log. */
export type Target = Folding & {
  readonly documents: Documents<Row>;
  /** The checkpoint stored with the documents, if any. */
  checkpoint: Checkpoint | undefined;
};

export const createTarget = (
  projection: AnyProjection,
  documents: Documents<Row>,
  checkpoint?: Checkpoint,
  skipped: ReadonlySet<string> = new Set(),
): Target => ({
  projection,
  documents,
  checkpoint,
  skipped,
  known: createLruCache<string, Known>(CACHED_DOCUMENTS),
  changed: new Map(),
  read: (keys) => documents.projected(keys),
});

/**
 * Folds events, in log order, into the documents of every target and writes those that changed.
 * @param to the checkpoint after these events. It is stored with each target that handles any of them
 * @returns the failed targets with their errors; none of these events counts as folded into them
 */
export async function fold<T extends Target>(
  targets: readonly T[],
  events: readonly UntypedEvent[],
  to?: Checkpoint,
): Promise<ReadonlyMap<T, Error>> {
  const failed = new Map<T, Error>();
  const all = take(targets, events);
  const write: T[] = [];
  const rest = yieldEvery(FOLD_FOR_MS);
  // Concurrently, so that their reads share one round trip to a remote engine.
  await Promise.all(
    [...all].map(async ([target, taken]) => {
      try {
        target.changed = new Map();
        if (!Array.isArray(taken)) throw taken;
        if (taken.length === 0) return;
        await lookUp(target, taken);
        for (let from = 0; from < taken.length; from += FOLD_EVENTS) {
          await rest();
          evolve(target, taken.slice(from, from + FOLD_EVENTS));
        }
        write.push(target);
      } catch (error) {
        failed.set(target, failureOf(target, error));
      }
    }),
  );
  for (const [target, failure] of await store(write, to)) failed.set(target, failure);
  return failed;
}

/** Writes changed documents and checkpoints together, in one transaction per file if the engine supports it. */
export async function store<T extends Target>(targets: readonly T[], to?: Checkpoint): Promise<ReadonlyMap<T, Error>> {
  const failed = new Map<T, Error>();
  await Promise.all(
    targets.map(async (target) => {
      const { documents, changed, known, checkpoint } = target;
      try {
        const isNext = to !== undefined && isBefore(checkpoint, to);
        const next = isNext ? { ...to, after: checkpoint?.position ?? LOG_START } : undefined;
        faultPoint('folded, not stored');
        if (!(await documents.project([...changed.values()], next))) throw new Fenced(target.projection);
        if (isNext) target.checkpoint = to;
        for (const [key, written] of changed) known.set(key, written);
      } catch (error) {
        failed.set(target, error instanceof Fenced ? error : failureOf(target, error));
      }
    }),
  );
  return failed;
}

export const isBefore = (checkpoint: Checkpoint | undefined, to: Checkpoint): boolean =>
  checkpoint === undefined || checkpoint.position < to.position;

/** Another process has moved the checkpoint. */
export class Fenced extends Error {
  constructor({ name }: AnyProjection) {
    super(`Another process has moved the checkpoint of ${name}`);
    this.name = 'Fenced';
  }
}

/** A projection threw while handling an event, or its documents could not be read or written. */
export class ProjectionFailed extends Error {
  readonly event: Pick<UntypedEvent, 'id' | 'type' | 'position'> | undefined;

  constructor({ name }: AnyProjection, event: UntypedEvent | undefined, cause: unknown) {
    const on =
      event === undefined
        ? 'to read or write its documents'
        : `on ${event.type} ${event.id} at position ${event.position}`;
    super(`Projection ${name} failed ${on}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'ProjectionFailed';
    this.event = event && { id: event.id, type: event.type, position: event.position };
  }
}

export const failureOf = ({ projection }: Pick<Folding, 'projection'>, error: unknown): ProjectionFailed =>
  error instanceof ProjectionFailed ? error : new ProjectionFailed(projection, undefined, error);
