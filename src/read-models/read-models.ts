import type { AnyProjection, Projection } from '../../projections/projection.ts';
import type { OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { type Leases, openLeases } from '../leases/lease.ts';
import { inRounds } from '../runtime/rounds.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { type Progress, type WaitFor, watchCheckpoints } from './await-checkpoint.ts';
import { type Catalogue, idOf, isUnreadable, openCatalogue, projectorLease, READ_MODEL_LEASES } from './catalogue.ts';
import { createKnownCatalogue } from './known-catalogue.ts';
import type { NodeStatus } from './node-status.ts';
import { createReader, type ReadModel } from './reader.ts';
import { createStartGate } from './start-gate.ts';
import { createStatus, type ReadModelsStatus } from './status.ts';

export type ReadModels = {
  /**
   * The documents of a projection. Follows swaps after a rebuild, in every process. Reads throw {@link Unavailable} during the
   * first build or a failure, so an unreadable model never looks empty.
   */
  collection<D extends object>(projection: Projection<D>): ReadModel<D>;
  /** The name of the live collection of a projection. A rebuild, which may repair documents without an event, changes it. */
  nameOf(projection: Pick<AnyProjection, 'name' | 'version'>): string | undefined;
  /**
   * Waits until read models show everything up to `position`. Another process may project them.
   * @returns false if they do not in time. Nothing is lost; they only lag (docs/decisions/read-models.md)
   */
  waitFor(position: Position, options?: WaitFor): Promise<boolean>;
};

export type LiveReadModels = ReadModels & {
  /** @param limit at which counting the lag stops, default 1,001 */
  status(limit?: number): Promise<ReadModelsStatus>;
  /** Resolves once every read model has been built and has caught up with the log. @returns false if that takes longer than `timeoutMs` */
  readable(timeoutMs: number): Promise<boolean>;
  /** Called by a projector in this process, so that waiting callers need not poll. */
  reached(progress: Progress): void;
  /** Called by a projector in this process when it has changed the catalogue. */
  changed(catalogue: Pick<Stored<Catalogue>, 'version' | 'document'>): Promise<void>;
  close(): Promise<void>;
};

/** How often to check whether the read models have caught up after a start. */
const CHECK_START_MS = 500;

/** The leases of the projectors, one for each release. */
export const openReadModelLeases = (deps: {
  readonly documents: OperatedDocumentStore;
  readonly heartbeats: Heartbeats<NodeStatus>;
}): Promise<Leases> =>
  openLeases({
    documents: deps.documents,
    heartbeats: deps.heartbeats,
    collection: READ_MODEL_LEASES,
    durationMs: deps.heartbeats.silenceMs,
    clock: Date.now,
  });

/** Opens the read models of this release for reading, in any process. */
export async function openReadModels(deps: {
  readonly documents: OperatedDocumentStore;
  readonly events: Pick<EventStore, 'readAll' | 'lastEvent'>;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Heartbeats<NodeStatus>;
  readonly kind?: NodeStatus['kind'];
  /**
   * Makes the first read of each read model wait up to so many milliseconds until it has caught up with the log. For short-lived
   * processes such as the command line.
   */
  readonly catchUpWithinMs?: number;
}): Promise<LiveReadModels> {
  const { documents, events, projections, heartbeats, kind = 'service', catchUpWithinMs } = deps;
  const wants = projections.map(idOf);
  heartbeats.announce({ kind, projects: false, wants });
  const leases = await openReadModelLeases({ documents, heartbeats });
  const isAttended = () => leases.isHeld(projectorLease(projections));
  const catalogue = await openCatalogue(documents);
  const onChange = () => checkpoints.settle();
  const known = createKnownCatalogue({ documents, projections, catalogue, heartbeats, onChange });
  const checkpoints = watchCheckpoints({ projections, known, documents });
  const gate = createStartGate({ events, projections, heartbeats, known, checkpoints });
  const closing = new AbortController();

  await known.refresh();
  const starting = new AbortController();
  void inRounds(CHECK_START_MS, AbortSignal.any([starting.signal, closing.signal]), async () => {
    await gate.check().catch(() => {});
    if (gate.areAllOpen()) starting.abort();
  });

  return {
    collection: createReader({ events, known, checkpoints, gate, isAttended, catchUpWithinMs }),
    nameOf: (projection) => known.get(idOf(projection))?.entry.live,
    waitFor: checkpoints.waitFor,
    reached: checkpoints.reached,
    changed: known.changed,

    async readable(timeoutMs) {
      const deadline = performance.now() + timeoutMs;
      const areReadable = () =>
        wants.every((id) => {
          const model = known.get(id);
          return gate.isOpen(id) || (model !== undefined && isUnreadable(model.entry));
        });
      while (!closing.signal.aborted && !areReadable() && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        await gate.check().catch(() => {});
      }
      return areReadable();
    },

    status: createStatus({ events, projections, heartbeats, isAttended, known, checkpoints, gate }),

    async close() {
      closing.abort();
      await known.settled();
    },
  };
}
