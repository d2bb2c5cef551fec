import type { AnyProjection } from '../../projections/projection.ts';
import { type EventStore, logEnd, type Position } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import type { CheckpointWatch } from './await-checkpoint.ts';
import { idOf, type ReadModelId } from './catalogue.ts';
import { type KnownCatalogue, TRUST_MS } from './known-catalogue.ts';
import type { NodeStatus } from './node-status.ts';

export type StartGate = ReturnType<typeof createStartGate>;

/**
 * Tracks whether this process may answer from its read models. They must have passed the end of the log as it was when every other
 * process had begun to wait for them; earlier, a process of another release may have confirmed bookings without waiting for them
 * (docs/decisions/read-models.md).
 */
export function createStartGate(deps: {
  readonly events: Pick<EventStore, 'lastEvent'>;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Pick<Heartbeats<NodeStatus>, 'silenceMs' | 'onBeat' | 'living'>;
  readonly known: KnownCatalogue;
  readonly checkpoints: Pick<CheckpointWatch, 'at' | 'read'>;
}) {
  const { events, projections, heartbeats, known, checkpoints } = deps;
  const ids = projections.map(idOf);
  const open = new Set<ReadModelId>();
  const caughtUp = new Set<ReadModelId>();
  /** Since when each is readable and kept up to date (monotonic). */
  const readableSince = new Map<ReadModelId, number>();
  const startedAt = performance.now();
  let projectedSince: number | undefined;
  /** The end of the log when every process had begun to wait for a read model. */
  const mustReach = new Map<ReadModelId, Position>();
  let checking: Promise<void> | undefined;

  const forget = (id: ReadModelId): void => {
    for (const each of [caughtUp, readableSince, mustReach]) each.delete(id);
  };
  heartbeats.onBeat((silentMs) => {
    // Other processes may have considered this one dead and stopped waiting for its read models.
    if (silentMs >= heartbeats.silenceMs) ids.forEach(forget);
  });

  /** The read models that every process waits for. */
  async function awaitedByAll(pending: readonly ReadModelId[]): Promise<readonly ReadModelId[]> {
    const now = performance.now();
    const living = await heartbeats.living();
    const wantsOurs = ({ status }: (typeof living)[number]) => ids.every((id) => status.wants.includes(id));
    if (living.some((each) => each.status.projects && wantsOurs(each))) projectedSince ??= now;
    if (living.every(wantsOurs)) return pending;
    // The process that keeps them up to date may still be starting. Without such a process, no command waits for them.
    const [since, knownAfterMs] =
      projectedSince === undefined ? [startedAt, heartbeats.silenceMs] : [projectedSince, TRUST_MS];
    return pending.filter((id) => now - Math.max(since, readableSince.get(id) ?? now) >= knownAfterMs);
  }

  async function checkNow(): Promise<void> {
    await known.refresh();
    for (const projection of projections) {
      if (!known.isReadable(projection)) forget(idOf(projection));
      else if (!readableSince.has(idOf(projection))) readableSince.set(idOf(projection), performance.now());
    }
    const pending = ids.filter((id) => readableSince.has(id) && !caughtUp.has(id));
    if (pending.length === 0) return;
    const withoutTarget = await awaitedByAll(pending.filter((id) => !mustReach.has(id)));
    if (withoutTarget.length > 0) {
      const end = await logEnd(events);
      for (const id of withoutTarget) mustReach.set(id, end);
    }
    await checkpoints.read();
    for (const id of pending) {
      const position = mustReach.get(id);
      if (position === undefined || checkpoints.at(known.get(id)?.entry.live).position < position) continue;
      caughtUp.add(id);
      open.add(id);
    }
  }

  return {
    /** Whether this process has seen a read model catch up since it started. */
    isOpen: (id: ReadModelId): boolean => open.has(id),
    areAllOpen: (): boolean => open.size === ids.length,
    /** Whether all of them have caught up since this process started or was suspended. */
    haveCaughtUp: (): boolean => caughtUp.size === ids.length,
    /** Checks their progress. Rejects if a store does not answer. */
    check(): Promise<void> {
      checking ??= checkNow().finally(() => {
        checking = undefined;
      });
      return checking;
    },
  };
}
