import type { AnyProjection, Projection } from '../../projections/projection.ts';
import type { OperatedDocumentStore } from '../document-store/document-store.ts';
import { type EventStore, logEnd, type Position } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { openCurrentGeneration, type WaitFor } from './current-generation.ts';
import type { NodeStatus } from './node-status.ts';
import { createReader, type ReadModel } from './reader.ts';
import { createStatus } from './status.ts';

export type ReadModels = {
  /**
   * The documents of a projection. Follows swaps after a rebuild, in every process. Reads throw {@link Unavailable} during the
   * first build or a failure, so an unreadable model never looks empty.
   */
  collection<D extends object>(projection: Projection<D>): ReadModel<D>;
  /** The name of the live collection of a projection. A rebuild, which may repair documents without an event, changes it. */
  nameOf(projection: Pick<AnyProjection, 'name'>): string | undefined;
  /**
   * Waits until read models show everything up to `position`. Another process may project them.
   * @returns false if they do not in time. Nothing is lost; they only lag (docs/decisions/read-models.md)
   */
  waitFor(position: Position, options?: WaitFor): Promise<boolean>;
};

export type LiveReadModels = Awaited<ReturnType<typeof openReadModels>>;

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
}) {
  const { documents, events, projections, heartbeats, kind = 'service', catchUpWithinMs } = deps;
  const current = await openCurrentGeneration({ documents, projections });
  heartbeats.announce({ kind, projects: false, wants: current.name });
  /** Also while a process that projects has yet to take the lease over, as for a moment after a restart. */
  const isAttended = async () =>
    (await heartbeats.living()).some(({ status }) => status.projects && status.wants === current.name);
  await current.refresh();

  let isClosed = false;
  /** The end of the log when this process started. Earlier, it may have confirmed writes that its read models do not show. */
  let end: Position | undefined;
  let isOpen = false;
  const hasCaughtUp = (): boolean => {
    isOpen ||= end !== undefined && (current.live()?.checkpoint.position ?? '') >= end;
    return isOpen && current.live() !== undefined;
  };
  const checkCaughtUp = async (): Promise<void> => {
    end ??= await logEnd(events);
    if (!hasCaughtUp()) await current.refresh();
  };
  // Measured at the start. If the log does not answer now, the first read asks again.
  void checkCaughtUp().catch(() => {});
  const shared = { events, current, hasCaughtUp, checkCaughtUp, isAttended };

  const readModels: ReadModels = {
    collection: createReader({ ...shared, catchUpWithinMs }),
    nameOf({ name }) {
      const live = current.live();
      return live && `${live.id}.${name}`;
    },
    waitFor: current.waitFor,
  };
  return {
    ...readModels,
    /** For a projector in this process. */
    generations: current,

    /** Resolves once the read models have been built and have caught up with the log. @returns false if that takes longer than `timeoutMs` */
    async readable(timeoutMs: number): Promise<boolean> {
      const deadline = performance.now() + timeoutMs;
      while (!isClosed && !hasCaughtUp() && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        await checkCaughtUp().catch(() => {});
      }
      return hasCaughtUp();
    },

    status: createStatus({ ...shared, projections }),

    async close(): Promise<void> {
      isClosed = true;
      await current.settled();
    },
  };
}
