import type { AnyProjection } from '../../projections/projection.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import { type EventStore, LOG_START, logEnd, type Position } from '../event-store/event-store.ts';
import { createEstimate, type Estimate } from '../runtime/estimate.ts';
import { isFailing, type KnownModels } from './known-models.ts';
import { idOf, isUnreadable, type Positions, placeOf, type ReadModelState, type ReadModelStateStore } from './state.ts';
import type { Waiting } from './waiting.ts';

/** The state of the read models that this process reads, whichever process projects. */
export type ReadModelsStatus = {
  /** Events in the log that some read model does not show yet, counted up to a limit. Those that fail or are built do not count. */
  readonly lag: number;
  /** False while this process, having started or been asleep, still has to see them catch up with the log once. */
  readonly caughtUp: boolean;
  /** The read models that cannot be read, are being built anew, or are looked after by nobody. */
  readonly problems: readonly Problem[];
};

export type Problem = {
  readonly readModel: string;
  /** Whether it can be read: what is being rebuilt, or fails in that, is. */
  readonly readable: boolean;
} & (
  | { readonly state: 'failing'; readonly message: string; readonly attempts: number; readonly event?: string }
  | { readonly state: 'building'; readonly done: number; readonly total?: number; readonly secondsLeft?: number }
  | { readonly state: 'unattended' }
);

export type Progress = ReturnType<typeof createProgress>;

/** How fast the collections that are being built get on. */
export function createProgress(known: KnownModels) {
  const estimates = new Map<string, Estimate>();
  return {
    note(positions: Positions): void {
      const building = Array.from(known.all(), ({ state }) => state.building).filter((name) => name !== undefined);
      for (const collection of estimates.keys()) if (!building.includes(collection)) estimates.delete(collection);
      for (const collection of building) {
        const estimate = estimates.get(collection) ?? createEstimate();
        estimates.set(collection, estimate);
        estimate.note(placeOf(positions, collection).events);
      }
    },
    of: (collection: string | undefined): Estimate | undefined => estimates.get(collection ?? ''),
  };
}

/** Whether a running process looks after a read model. */
export const isAttended = async (
  state: ReadModelState | undefined,
  heartbeats: Pick<Heartbeats<object>, 'silentFor' | 'silenceMs'>,
): Promise<boolean> => state?.owner !== undefined && (await heartbeats.silentFor(state.owner)) < heartbeats.silenceMs;

/** Looks at what is known and at the log, each time it is asked. */
export function createStatus(deps: {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly projections: readonly AnyProjection[];
  readonly heartbeats: Pick<Heartbeats<object>, 'silentFor' | 'silenceMs' | 'sinceLastBeat' | 'onBeat'>;
  readonly state: Pick<ReadModelStateStore, 'positions'>;
  readonly known: KnownModels;
  readonly waiting: Waiting;
  readonly progress: Progress;
}) {
  const { events, projections, heartbeats, state, known, waiting, progress } = deps;
  /** Where the log ended when this process could first read everything, having started or woken up. */
  let mustReach: Promise<Position> | undefined;
  heartbeats.onBeat((silentMs) => {
    if (silentMs >= heartbeats.silenceMs) mustReach = undefined;
  });

  /** @param limit at which counting the lag stops */
  return async function status(limit = 1_001): Promise<ReadModelsStatus> {
    await known.refresh();
    // A projector tells how far it is before it stores that.
    const told = waiting.positions();
    const positions = await state.positions();
    // Waiters have to learn of it: it will be no news to them the next time.
    waiting.reached(positions, true);
    const problems: Problem[] = [];
    let after: Position | undefined;
    for (const projection of projections) {
      const model = known.get(idOf(projection))?.state;
      const problem = problemOf(projection, model, positions, progress.of(model?.building));
      if (problem !== undefined) problems.push(problem);
      else if (!(await isAttended(model, heartbeats)))
        problems.push({ readModel: projection.name, state: 'unattended', readable: true });
      if (model?.live === undefined || isFailing(model)) continue;
      const [stored, shown] = [placeOf(positions, model.live).position, placeOf(told, model.live).position];
      const position = stored < shown ? shown : stored;
      if (after === undefined || position < after) after = position;
    }
    // Commands in other processes wait for these read models from the moment on at which they can be read: what is in the log
    // by then, they may have answered without.
    if (projections.every(known.isReadable)) mustReach ??= logEnd(events);
    else mustReach = undefined;
    const must = await mustReach?.catch(() => {
      mustReach = undefined;
      return undefined;
    });
    let lag = 0;
    for await (const _ of events.readAll({ after: after ?? LOG_START, limit })) lag += 1;
    // A process that has just woken up does not know yet what it has missed.
    const isAwake = heartbeats.sinceLastBeat() < heartbeats.silenceMs;
    return { lag, caughtUp: isAwake && must !== undefined && (after ?? LOG_START) >= must, problems };
  };
}

function problemOf(
  { name }: AnyProjection,
  model: ReadModelState | undefined,
  positions: Positions,
  estimate: Estimate | undefined,
): Problem | undefined {
  if (model?.failure !== undefined) {
    const { message, attempts, event } = model.failure;
    const readable = !isUnreadable(model);
    return { readModel: name, state: 'failing', readable, message, attempts, ...(event && { event: event.id }) };
  }
  if (model?.building === undefined && model?.live !== undefined) return undefined;
  const done = model?.building === undefined ? 0 : placeOf(positions, model.building).events;
  const total = Math.max(0, ...positions.groups.map(({ events }) => events));
  const readable = model?.live !== undefined;
  const secondsLeft = estimate?.secondsLeft(total);
  return {
    ...{ readModel: name, state: 'building', readable, done },
    ...(total > done && { total }),
    ...(secondsLeft !== undefined && { secondsLeft }),
  };
}
