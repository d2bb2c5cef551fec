import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Documents, Projected } from '../document-store/document-store.ts';
import type { EventType, Recorded } from '../domain/events.ts';
import { knownEvent, type UntypedEvent } from '../domain/known-event.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import { isSkipped } from './skipped-events.ts';

/** Documents cached per target, so that one touched by many events is read only once. */
const CACHED_DOCUMENTS = 10_000;

/** How long a fold may hold the event loop, in milliseconds, and how many events it folds before it looks. */
const FOLD_FOR_MS = 4;
const FOLD_EVENTS = 64;

/** A document in memory. Without a position if its key was never written. */
type CachedDocument = { readonly position?: string | undefined; readonly document?: Row | undefined };

/** A projection whose documents follow the log. */
export type Target = {
  readonly projection: AnyProjection;
  readonly documents: Pick<Documents<Row>, 'project' | 'projected'>;
  /** Ids of the events that an operator has excluded. */
  readonly skipped: ReadonlySet<string>;
  /** The stored state. Correct while every event passes through here, even if other processes write, too. */
  readonly cache: { get(key: string): CachedDocument | undefined; set(key: string, document: CachedDocument): unknown };
  /** Changed documents not yet written. */
  readonly changed: Map<string, Projected<Row>>;
};

export const createTarget = (
  projection: AnyProjection,
  documents: Target['documents'],
  skipped: ReadonlySet<string> = new Set(),
): Target => ({
  projection,
  documents,
  skipped,
  cache: createLruCache<string, CachedDocument>(CACHED_DOCUMENTS),
  changed: new Map(),
});

/** An event that a projection handles, and the key of its document. */
type KeyedEvent = { readonly key: string; readonly event: Recorded };

/** The events of a batch that each projection handles, in log order. A projection that fails on an event handles none. */
function assign(
  targets: readonly Target[],
  batch: readonly UntypedEvent[],
): Map<Target, KeyedEvent[] | ProjectionFailed> {
  const all = new Map<Target, KeyedEvent[] | ProjectionFailed>(targets.map((target) => [target, []]));
  // One lookup per event instead of one per projection.
  const byType = new Map<string, Target[]>();
  for (const target of targets)
    for (const type of target.projection.types) {
      const others = byType.get(type);
      if (others === undefined) byType.set(type, [target]);
      else others.push(target);
    }
  for (const stored of batch) {
    let event: Recorded | undefined;
    for (const target of byType.get(stored.type) ?? []) {
      const own = all.get(target);
      if (!Array.isArray(own) || isSkipped(target.skipped, stored)) continue;
      try {
        event ??= knownEvent(stored);
        own.push({ key: target.projection.key(event), event });
      } catch (error) {
        all.set(target, new ProjectionFailed(target.projection, stored, error));
      }
    }
  }
  return all;
}

/** Reads uncached documents, except those that their first event creates. */
async function lookUp({ projection, cache, documents }: Target, own: readonly KeyedEvent[]): Promise<void> {
  const unknown = new Set<string>();
  const replaced = new Set<string>();
  for (const { key, event } of own) {
    if (replaced.has(key) || unknown.has(key) || cache.get(key) !== undefined) continue;
    (replaces(projection, event) ? replaced : unknown).add(key);
  }
  if (unknown.size === 0) return;
  const stored = await documents.projected([...unknown]);
  for (const key of unknown) cache.set(key, stored.get(key) ?? {});
}

/**
 * Folds events into the documents in memory. Events that a document already reflects are skipped, so any batch may be repeated,
 * overlap another, or be folded by two projectors at once (docs/decisions/read-models.md).
 * @throws {ProjectionFailed} if the projection throws
 */
function evolve({ projection, cache, changed }: Target, own: readonly KeyedEvent[]): void {
  for (const { key, event } of own) {
    const unwritten = changed.get(key);
    const before = unwritten ?? cache.get(key);
    if (before?.position !== undefined && before.position >= event.position) continue;
    const isFirst = before === undefined;
    try {
      const document = projection.evolve(before?.document, event);
      if (document === before?.document && !(isFirst && replaces(projection, event))) continue;
      const isNew = unwritten?.isNew ?? before?.position === undefined;
      changed.set(key, { key, position: event.position, document, isNew });
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

/**
 * Folds events, in log order, into documents in memory. What has changed is in `changed` of each target.
 * @returns the failed targets with their errors; none of these events counts as folded into them
 */
export async function fold(
  targets: readonly Target[],
  events: readonly UntypedEvent[],
): Promise<ReadonlyMap<Target, ProjectionFailed>> {
  const failed = new Map<Target, ProjectionFailed>();
  const rest = yieldEvery(FOLD_FOR_MS);
  // Concurrently, so that their reads share one round trip to a remote engine.
  await Promise.all(
    [...assign(targets, events)].map(async ([target, own]) => {
      try {
        target.changed.clear();
        if (!Array.isArray(own)) throw own;
        if (own.length === 0) return;
        await lookUp(target, own);
        for (let from = 0; from < own.length; from += FOLD_EVENTS) {
          await rest();
          evolve(target, own.slice(from, from + FOLD_EVENTS));
        }
      } catch (error) {
        target.changed.clear();
        failed.set(
          target,
          error instanceof ProjectionFailed ? error : new ProjectionFailed(target.projection, undefined, error),
        );
      }
    }),
  );
  return failed;
}

/** Call once the changed documents are stored. */
export function written({ changed, cache }: Target): void {
  for (const [key, document] of changed) cache.set(key, document);
  changed.clear();
}

/** Folds events into a single target and writes its documents, without a checkpoint. @throws {ProjectionFailed} */
export async function foldInto(target: Target, events: readonly UntypedEvent[]): Promise<void> {
  for (const failure of (await fold([target], events)).values()) throw failure;
  await target.documents.project([...target.changed.values()]).catch((error: unknown) => {
    throw new ProjectionFailed(target.projection, undefined, error);
  });
  written(target);
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
