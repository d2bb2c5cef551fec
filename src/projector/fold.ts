import type { LRUCache } from 'lru-cache';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Documents, Projected } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { Recorded } from '../domain/events.ts';
import { type UntypedEvent, upcast } from '../domain/upcast.ts';
import { createLruCache } from '../runtime/lru-cache.ts';

/** Documents cached per target, so that one touched by many events is read only once. */
const CACHED_DOCUMENTS = 10_000;

/** A projection and the collection its documents go to. */
export type Target = {
  readonly projection: AnyProjection;
  readonly documents: Documents<Row>;
  /** Ids of events that an operator has told it to skip. */
  readonly skipped: ReadonlySet<string>;
  /**
   * Cached documents with their positions. Correct as long as every event goes through this target, whatever other projectors
   * write meanwhile.
   */
  readonly cache: LRUCache<string, CachedDocument>;
  /** The position of the last write to its documents. */
  readonly written: { position: string };
};

/** A document and its position, which is absent for a key that was never written. */
type CachedDocument = { readonly position?: string; readonly document?: Row };

export const createTarget = (
  projection: AnyProjection,
  documents: Documents<Row>,
  skipped: ReadonlySet<string> = new Set(),
): Target => ({
  projection,
  documents,
  skipped,
  cache: createLruCache(CACHED_DOCUMENTS),
  written: { position: '' },
});

/**
 * Folds events, in log order, into the documents of every target and writes those that changed. Events that a document
 * already reflects are skipped, so any batch may be repeated, overlap another, or be folded by two projectors at once
 * (docs/decisions/position-guarded-documents.md).
 * @returns the targets that could not take the events, and why; nothing of these events counts as folded into them
 */
export async function fold<T extends Target>(
  targets: readonly T[],
  events: readonly UntypedEvent[],
): Promise<ReadonlyMap<T, ProjectionFailed>> {
  const typed = upcastOnce();
  const failed = new Map<T, ProjectionFailed>();
  const folded: (readonly [T, Folded])[] = [];
  // Together, so that their reads are one round trip to an engine elsewhere.
  await Promise.all(
    targets.map(async (target) => {
      try {
        folded.push([target, await foldOne(target, events, typed)]);
      } catch (error) {
        const isOwn = error instanceof ProjectionFailed;
        failed.set(target, isOwn ? error : new ProjectionFailed(target.projection, undefined, error));
      }
    }),
  );
  // Written together, so that an engine that can do so uses one transaction.
  await Promise.all(
    folded.map(async ([target, { changed, now }]) => {
      try {
        if (changed.size > 0) await target.documents.project([...changed.values()]);
        for (const { position } of changed.values())
          if (position > target.written.position) target.written.position = position;
        for (const [key, document] of now) target.cache.set(key, document);
      } catch (error) {
        failed.set(target, new ProjectionFailed(target.projection, undefined, error));
      }
    }),
  );
  return failed;
}

type Folded = {
  readonly now: ReadonlyMap<string, CachedDocument>;
  readonly changed: ReadonlyMap<string, Projected<Row>>;
};

/** Brings each event to its current shape once, whichever projection asks first; events that nobody handles are left alone. */
function upcastOnce(): (event: UntypedEvent) => Recorded {
  const typed = new Map<UntypedEvent, Recorded>();
  return (event) => {
    const known = typed.get(event) ?? upcast(event);
    typed.set(event, known);
    return known;
  };
}

async function foldOne(
  { projection, documents, cache, skipped }: Target,
  events: readonly UntypedEvent[],
  typed: (event: UntypedEvent) => Recorded,
): Promise<Folded> {
  const types: readonly string[] = projection.types;
  const handled: { readonly key: string; readonly event: Recorded }[] = [];
  for (const stored of events) {
    if (!types.includes(stored.type) || skipped.has(stored.id)) continue;
    handled.push(
      guard(projection, stored, () => {
        const event = typed(stored);
        return { key: projection.key(event), event };
      }),
    );
  }

  const now = new Map<string, CachedDocument>();
  const unknown: string[] = [];
  /** Not read, because their first event makes them anew. If they reflect it already, the write changes nothing. */
  const unread = new Set<string>();
  for (const { key, event } of handled) {
    if (now.has(key)) continue;
    const known = cache.get(key);
    now.set(key, known ?? {});
    if (known !== undefined) continue;
    if (projection.anew.includes(event.type)) unread.add(key);
    else unknown.push(key);
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
    const isNew = unread.delete(key);
    if (!isNew && document === before?.document) continue;
    now.set(key, defined({ position: event.position, document }));
    changed.set(key, { key, position: event.position, document, isNew: isNew || changed.get(key)?.isNew === true });
  }
  return { now, changed };
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

function guard<R>(projection: AnyProjection, event: UntypedEvent, work: () => R): R {
  try {
    return work();
  } catch (error) {
    throw new ProjectionFailed(projection, event, error);
  }
}
