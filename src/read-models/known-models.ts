import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { DocumentStore, Documents } from '../document-store/document-store.ts';
import {
  collectionOf,
  idOf,
  isUnreadable,
  type ReadModelId,
  type ReadModelState,
  type ReadModelStateStore,
  type ReadModelStates,
} from './state.ts';

/** How old what is known may be when a read relies on it, and how long a failure takes until every process knows of it. */
export const TRUST_MS = 1_000;

/** A read model as this process knows it; `documents` is the collection that is read, if there is one. */
export type Known = { readonly state: ReadModelState; readonly documents?: Documents<Row> };

export type KnownModels = ReturnType<typeof createKnownModels>;

/**
 * What this process knows of the states of the read models, of its own release and of others. It learns of changes by reading them,
 * or from a projector in this process.
 */
export function createKnownModels(deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly projections: readonly AnyProjection[];
  readonly state: Pick<ReadModelStateStore, 'readStates'>;
  /** Called after each change, also of how a failure counts. `swapped`: another collection is read of some projection. */
  readonly onChange: (swapped: boolean) => void;
}) {
  const { documents, projections, state, onChange } = deps;
  const ids: readonly ReadModelId[] = projections.map(idOf);
  const models = new Map<ReadModelId, Known>();
  /** The read models of other releases that somebody looks after. */
  let others: readonly (readonly [ReadModelId, ReadModelState])[] = [];
  /** Since when this process has known of read models, of any release, that they fail (monotonic). */
  const failingSince = new Map<string, number>();
  let version = -1;
  let changes = 0;
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;

  const open = (projection: AnyProjection, name: string): Promise<Documents<Row>> =>
    documents.open(collectionOf(projection, name));

  async function changed(of: number, { models: states }: ReadModelStates): Promise<void> {
    if (of < version) return;
    version = of;
    others = Object.entries(states)
      .map(([id, state]) => [id as ReadModelId, state] as const)
      .filter(([id, { owner }]) => owner !== undefined && !ids.includes(id));
    for (const [id, state] of Object.entries(states)) {
      if (!isUnreadable(state)) failingSince.delete(id);
      else if (!failingSince.has(id)) {
        failingSince.set(id, performance.now());
        setTimeout(onChange, TRUST_MS, false).unref();
      }
    }
    changes += 1;
    let swapped = false;
    for (const projection of projections) {
      const id = idOf(projection);
      const now = states[id] ?? { leaving: [], generation: 0 };
      const before = models.get(id);
      const sameLive = before !== undefined && before.state.live === now.live;
      const opened = sameLive ? before.documents : now.live && (await open(projection, now.live));
      if (version > of) return;
      models.set(id, { state: now, ...(opened && { documents: opened }) });
      changes += 1;
      swapped ||= !sameLive;
    }
    onChange(swapped);
  }

  return {
    get: (id: ReadModelId): Known | undefined => models.get(id),
    all: (): Iterable<Known> => models.values(),
    others: () => others,
    /** The version of the states that is known. */
    version: () => version,
    /** Counts the changes: what is made of what is known holds as long as this stays the same. */
    changes: () => changes,
    /** When the states were last read (monotonic). */
    refreshedAt: () => refreshedAt,
    /** Takes over states that a projector in this process has written. */
    changed,

    /** Reads what projectors have changed. */
    refresh(): Promise<void> {
      refreshing ??= (async () => {
        const at = performance.now();
        const stored = await state.readStates();
        if (stored.version !== version) await changed(stored.version, stored.document);
        refreshedAt = at;
      })().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },

    isReadable(projection: AnyProjection): boolean {
      const known = models.get(idOf(projection));
      return known?.documents !== undefined && !isFailing(known.state);
    },

    /** Whether any read model fails, whoever knows of it. */
    areSomeFailing: () => failingSince.size > 0,

    /** Whether every process knows that a read model fails. Until then another one may answer from what is stored. */
    isKnownToFail(id: ReadModelId): boolean {
      const since = failingSince.get(id);
      return since !== undefined && performance.now() - since >= TRUST_MS;
    },

    /** Resolves once nothing is being read. */
    settled: async (): Promise<void> => void (await refreshing?.catch(() => {})),
  };
}

export const isFailing = (state: ReadModelState | undefined): boolean => state !== undefined && isUnreadable(state);
