import type { LRUCache } from 'lru-cache';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Documents, Projected } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { Recorded } from '../domain/events.ts';
import { createLruCache } from '../runtime/lru-cache.ts';

/** Documents cached per target, so that one touched by many events is read only once. */
const CACHED_DOCUMENTS = 10_000;

/** A projection and the collection its documents go to. */
export type Target = {
  readonly projection: AnyProjection;
  readonly documents: Documents<Row>;
  /**
   * Cached documents with their positions. Correct as long as every event goes through this target, whatever other projectors
   * write meanwhile. Clear it before skipping events.
   */
  readonly cache: LRUCache<string, CachedDocument>;
};

/** A document and its position, which is absent for a key that was never written. */
type CachedDocument = { readonly position?: string; readonly document?: Row };

export const createTarget = (projection: AnyProjection, documents: Documents<Row>): Target => ({
  projection,
  documents,
  cache: createLruCache(CACHED_DOCUMENTS),
});

/**
 * Folds events, in log order, into the documents of every target and writes those that changed. Events that a document
 * already reflects are skipped, so any batch may be repeated, overlap another, or be folded by two projectors at once
 * (docs/decisions/position-guarded-documents.md).
 * @throws {ProjectionFailed} if a projection throws; nothing has been written then
 */
export async function fold(targets: readonly Target[], events: readonly Recorded[]): Promise<void> {
  const folded: Folded[] = [];
  for (const target of targets) folded.push(await foldOne(target, events));
  // Written together, so that an engine that can do so uses one transaction.
  await Promise.all(
    folded.map(({ documents, changed }) => (changed.size === 0 ? undefined : documents.project([...changed.values()]))),
  );
  for (const { cache, now } of folded) for (const [key, document] of now) cache.set(key, document);
}

type Folded = Target & {
  readonly now: ReadonlyMap<string, CachedDocument>;
  readonly changed: ReadonlyMap<string, Projected<Row>>;
};

async function foldOne(target: Target, events: readonly Recorded[]): Promise<Folded> {
  const { projection, documents, cache } = target;
  const handled: { readonly key: string; readonly event: Recorded }[] = [];
  for (const event of events) {
    if (!projection.types.includes(event.type)) continue;
    handled.push({ key: guard(projection, event, () => projection.key(event)), event });
  }

  const now = new Map<string, CachedDocument>();
  const unknown: string[] = [];
  for (const { key } of handled) {
    if (now.has(key)) continue;
    const known = cache.get(key);
    now.set(key, known ?? {});
    if (known === undefined) unknown.push(key);
  }
  if (unknown.length > 0) {
    for (const [key, { position, document }] of await documents.projected(unknown)) {
      now.set(key, defined({ position, document }));
    }
  }

  const changed = new Map<string, Projected<Row>>();
  for (const { key, event } of handled) {
    const before = now.get(key);
    if (before?.position !== undefined && before.position >= event.position) continue;
    const document = guard(projection, event, () => projection.evolve(before?.document, event));
    if (document === before?.document) continue;
    now.set(key, defined({ position: event.position, document }));
    changed.set(key, { key, position: event.position, document });
  }
  return { ...target, now, changed };
}

/** A projection threw while handling an event. */
class ProjectionFailed extends Error {
  constructor(projection: AnyProjection, event: Recorded, cause: unknown) {
    super(
      `Projection ${projection.name} failed on ${event.type} ${event.id} at position ${event.position}: ${String(cause)}`,
      {
        cause,
      },
    );
    this.name = 'ProjectionFailed';
  }
}

function guard<R>(projection: AnyProjection, event: Recorded, work: () => R): R {
  try {
    return work();
  } catch (error) {
    throw new ProjectionFailed(projection, event, error);
  }
}
