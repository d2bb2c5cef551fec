import type { LRUCache } from 'lru-cache';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Documents, Projected } from '../document-store/document-store.ts';
import type { Recorded } from '../domain/events.ts';
import { type UntypedEvent, upcast } from '../domain/upcast.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { isSkipped } from './skipped-events.ts';

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
type CachedDocument = { readonly position: string | undefined; readonly document: Row | undefined };

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
 * (docs/decisions/read-models.md).
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
    folded.map(async ([target, { touched, changed }]) => {
      try {
        if (changed.length > 0) await target.documents.project(changed);
        for (const { position } of changed) if (position > target.written.position) target.written.position = position;
        for (const { key, position, document } of touched) target.cache.set(key, { position, document });
      } catch (error) {
        failed.set(target, new ProjectionFailed(target.projection, undefined, error));
      }
    }),
  );
  return failed;
}

/** A document that events of a batch belong to. */
type Touched = {
  readonly key: string;
  /** Absent for a key that was never written, and for one that is not read. */
  position: string | undefined;
  document: Row | undefined;
  /** Not read, because its first event makes it anew. If it reflects that already, the write changes nothing. */
  isUnread: boolean;
  isNew: boolean;
  isChanged: boolean;
};

type Folded = { readonly touched: readonly Touched[]; readonly changed: readonly Projected<Row>[] };

/** Brings each event to its current shape once, whichever projection asks first; events that nobody handles are left alone. */
function upcastOnce(): (event: UntypedEvent) => Recorded {
  const typed = new Map<UntypedEvent, Recorded>();
  return (event) => {
    let known = typed.get(event);
    if (known === undefined) {
      known = upcast(event);
      typed.set(event, known);
    }
    return known;
  };
}

async function foldOne(
  { projection, documents, cache, skipped }: Target,
  events: readonly UntypedEvent[],
  typed: (event: UntypedEvent) => Recorded,
): Promise<Folded> {
  const types: readonly string[] = projection.types;
  const touched = new Map<string, Touched>();
  const handled: { readonly of: Touched; readonly event: Recorded }[] = [];
  const unknown: Touched[] = [];
  for (const stored of events) {
    if (!types.includes(stored.type) || isSkipped(skipped, stored)) continue;
    const { key, event } = guard(projection, stored, () => {
      const event = typed(stored);
      return { key: projection.key(event), event };
    });
    let of = touched.get(key);
    if (of === undefined) {
      const known = cache.get(key);
      const isUnread = known === undefined && projection.anew.includes(event.type);
      of = { key, position: known?.position, document: known?.document, isUnread, isNew: false, isChanged: false };
      touched.set(key, of);
      if (known === undefined && !isUnread) unknown.push(of);
    }
    handled.push({ of, event });
  }

  if (unknown.length > 0) {
    const found = await documents.projected(unknown.map(({ key }) => key));
    for (const of of unknown) ({ position: of.position, document: of.document } = found.get(of.key) ?? NOTHING);
  }

  for (const { of, event } of handled) {
    if (of.position !== undefined && of.position >= event.position) continue;
    const document = guard(projection, event, () => projection.evolve(of.document, event));
    const isFirst = of.isUnread;
    of.isUnread = false;
    if (!isFirst && document === of.document) continue;
    of.position = event.position;
    of.document = document;
    of.isNew ||= isFirst;
    of.isChanged = true;
  }

  const changed: Projected<Row>[] = [];
  for (const { key, position, document, isNew, isChanged } of touched.values())
    if (isChanged && position !== undefined) changed.push({ key, position, document, isNew });
  return { touched: [...touched.values()], changed };
}

const NOTHING: Pick<Touched, 'position' | 'document'> = { position: undefined, document: undefined };

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
