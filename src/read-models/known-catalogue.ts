import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Documents, OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import {
  type Catalogue,
  type CatalogueStore,
  collectionOf,
  EMPTY,
  type Entry,
  entriesOf,
  idOf,
  isUnreadable,
  type ReadModelId,
} from './catalogue.ts';
import type { NodeStatus } from './node-status.ts';

/** The maximum age of the catalogue for reads. Every process thus learns of a failure within this time. */
export const TRUST_MS = 1_000;

/** A read model as this process knows it; `documents` is its live collection, if there is one. */
type Known = { readonly entry: Entry; readonly documents?: Documents<Row> };

export type KnownCatalogue = ReturnType<typeof createKnownCatalogue>;

/** This process's copy of the catalogue. Readers use it for at most {@link TRUST_MS}; a projector in this process applies its own changes. */
export function createKnownCatalogue(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'checkpoints'>;
  readonly projections: readonly AnyProjection[];
  readonly catalogue: Pick<CatalogueStore, 'read'>;
  readonly heartbeats: Pick<Heartbeats<NodeStatus>, 'lastSeen' | 'living'>;
  /** Called after each change, and once every process knows of a failure. */
  readonly onChange: () => void;
}) {
  const { documents, projections, catalogue, heartbeats, onChange } = deps;
  const ids: ReadonlySet<ReadModelId> = new Set(projections.map(idOf));
  const models = new Map<ReadModelId, Known>();
  /** When this process learned that a read model, of any release, fails (monotonic). */
  const failingSince = new Map<ReadModelId, number>();
  let known: { readonly version: number; readonly document: Catalogue } = { version: -1, document: EMPTY };
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;

  /** A collection without a checkpoint is empty, as after a power failure. It is not read until it is rebuilt. */
  async function open(projection: AnyProjection, live: string | undefined): Promise<Documents<Row> | undefined> {
    if (live === undefined || !(await documents.checkpoints([live])).has(live)) return undefined;
    return documents.open(collectionOf(projection, live));
  }

  async function changed(next: Pick<Stored<Catalogue>, 'version' | 'document'>): Promise<void> {
    if (next.version <= known.version) return;
    known = next;
    for (const [id, entry] of entriesOf(next.document)) {
      if (!isUnreadable(entry)) failingSince.delete(id);
      else if (!failingSince.has(id)) {
        failingSince.set(id, performance.now());
        setTimeout(onChange, TRUST_MS).unref();
      }
    }
    for (const projection of projections) {
      const id = idOf(projection);
      const entry = next.document.models[id] ?? { retiring: [], types: projection.types };
      const before = models.get(id);
      const isSame = before?.documents !== undefined && before.entry.live === entry.live;
      const opened = isSame ? before.documents : await open(projection, entry.live);
      if (known !== next) return;
      models.set(id, { entry, ...(opened && { documents: opened }) });
    }
    onChange();
  }

  return {
    get: (id: ReadModelId): Known | undefined => models.get(id),
    version: () => known.version,
    /** When the catalogue was last read (monotonic). */
    refreshedAt: () => refreshedAt,
    /** Applies a change from a projector in this process. */
    changed,

    /** Reads the catalogue. */
    refresh(): Promise<void> {
      refreshing ??= (async () => {
        const at = performance.now();
        await changed(await catalogue.read());
        // Heartbeats show which of the other releases' read models are kept up to date.
        if (entriesOf(known.document).some(([id]) => !ids.has(id))) await heartbeats.living();
        refreshedAt = at;
      })().finally(() => {
        refreshing = undefined;
      });
      return refreshing;
    },

    /** The read models of other releases that running processes keep up to date. */
    others(): (readonly [ReadModelId, Entry])[] {
      const others = entriesOf(known.document).filter(([id]) => !ids.has(id));
      if (others.length === 0) return others;
      const wanted = new Set(heartbeats.lastSeen().flatMap(({ status }) => (status.projects ? status.wants : [])));
      return others.filter(([id]) => wanted.has(id));
    },

    isReadable(projection: Pick<AnyProjection, 'name' | 'version'>): boolean {
      const model = models.get(idOf(projection));
      return model?.documents !== undefined && !isUnreadable(model.entry);
    },

    /** Whether every process knows that a read model fails. Until then, others may still read it. */
    isKnownToFail(id: ReadModelId): boolean {
      const since = failingSince.get(id);
      return since !== undefined && performance.now() - since >= TRUST_MS;
    },

    /** Resolves once no refresh is running. */
    settled: async (): Promise<void> => void (await refreshing?.catch(() => {})),
  };
}
