import type { AnyProjection } from '../../projections/projection.ts';
import { defined } from '../domain/defined.ts';
import { maxOf } from '../domain/extremes.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { createEstimate, type Estimate } from '../runtime/estimate.ts';
import type { CheckpointWatch } from './await-checkpoint.ts';
import { type Entry, idOf, isUnreadable } from './catalogue.ts';
import type { KnownCatalogue } from './known-catalogue.ts';
import type { NodeStatus } from './node-status.ts';
import type { StartGate } from './start-gate.ts';

/** The state of the read models that this process reads. Another process may project them. */
export type ReadModelsStatus = {
  /** Events that some read model does not show yet, counted up to a limit. Failing and unbuilt read models are ignored. */
  readonly lag: number;
  /** False after a start or a suspension, until all have caught up with the log once. */
  readonly caughtUp: boolean;
  /** The read models that cannot be read, are being rebuilt, or are kept up to date by no process. */
  readonly problems: readonly Problem[];
};

export type Problem = {
  readonly readModel: string;
  /** Whether it can be read. True during a rebuild, even if that fails. */
  readonly readable: boolean;
} & (
  | { readonly state: 'failing'; readonly message: string; readonly attempts: number; readonly event?: string }
  | { readonly state: 'building'; readonly done: number; readonly total?: number; readonly secondsLeft?: number }
  | { readonly state: 'unattended' }
);

/** Computes the status from the known catalogue and the log on each call. */
export function createStatus(deps: {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Pick<Heartbeats<NodeStatus>, 'silenceMs' | 'sinceLastBeat'>;
  /** Whether a process keeps the read models up to date. */
  readonly isAttended: () => Promise<boolean>;
  readonly known: KnownCatalogue;
  readonly checkpoints: CheckpointWatch;
  readonly gate: StartGate;
}) {
  const { events, projections, heartbeats, isAttended, known, checkpoints, gate } = deps;
  const ids = projections.map(idOf);
  const estimates = new Map<string, Estimate>();
  function problemOf({ name }: AnyProjection, entry: Entry | undefined): Problem | undefined {
    const { live, building, failure } = entry ?? {};
    if (failure !== undefined) {
      const readable = !isUnreadable(defined({ live, failure }));
      const { message, attempts, event } = failure;
      return { readModel: name, state: 'failing', readable, message, attempts, ...(event && { event: event.id }) };
    }
    if (building === undefined && live !== undefined) return undefined;
    const done = checkpoints.at(building).events;
    const total = maxOf(
      ids.map((id) => checkpoints.at(known.get(id)?.entry.live).events),
      0,
    );
    const secondsLeft = estimateOf(building, done)?.secondsLeft(total);
    const progress = { done, ...defined({ total: total > done ? total : undefined, secondsLeft }) };
    return { readModel: name, state: 'building', readable: live !== undefined, ...progress };
  }

  function estimateOf(building: string | undefined, done: number): Estimate | undefined {
    if (building === undefined) return undefined;
    const estimate = estimates.get(building) ?? createEstimate();
    estimates.set(building, estimate);
    estimate.note(done);
    return estimate;
  }

  /** @param limit at which counting the lag stops */
  return async function status(limit = 1_001): Promise<ReadModelsStatus> {
    await checkpoints.read();
    // If the log does not answer, counting the lag fails, too.
    await gate.check();
    const attended = await isAttended();
    const problems: Problem[] = [];
    const shown: Position[] = [];
    for (const projection of projections) {
      const { entry } = known.get(idOf(projection)) ?? {};
      const problem = problemOf(projection, entry);
      if (problem !== undefined) problems.push(problem);
      else if (!attended) problems.push({ readModel: projection.name, state: 'unattended', readable: true });
      if (entry?.live !== undefined && known.isReadable(projection)) shown.push(checkpoints.at(entry.live).position);
    }
    const after = shown.sort()[0] ?? LOG_START;
    let lag = 0;
    for await (const _ of events.readAll({ after, limit })) lag += 1;
    // A process resumed from suspension may have missed changes.
    const isAwake = heartbeats.sinceLastBeat() < heartbeats.silenceMs;
    return { lag, caughtUp: isAwake && gate.haveCaughtUp(), problems };
  };
}
