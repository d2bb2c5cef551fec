import type { AnyProjection } from '../../projections/projection.ts';
import { defined } from '../domain/defined.ts';
import { type EventStore, LOG_START } from '../event-store/event-store.ts';
import { createEstimate, type Estimate } from '../text/estimate.ts';
import type { CurrentGeneration } from './current-generation.ts';

/** The state of the read models that this process reads. Another process may project them. */
export type ReadModelsStatus = {
  /** Events that the read models do not show yet, counted up to a limit. Failing and unbuilt read models are ignored. */
  readonly lag: number;
  /** Events that they show. Absent before they are built. */
  readonly events?: number;
  /** When the first of these events happened. */
  readonly behindSince?: string;
  /** False after a start, until they have caught up with the log once. */
  readonly caughtUp: boolean;
  /** The read models that cannot be read, are being rebuilt, or are kept up to date by no process. */
  readonly problems: readonly Problem[];
};

export type Problem = {
  /** `all` during a rebuild. */
  readonly readModel: string;
  /** Whether it can be read. */
  readonly readable: boolean;
} & (
  | { readonly state: 'failing'; readonly message: string; readonly attempts: number; readonly event?: string }
  | { readonly state: 'building'; readonly done: number; readonly total?: number; readonly secondsLeft?: number }
  | { readonly state: 'unattended' }
);

/** Computes the status from this process's view and the log on each call. */
export function createStatus(deps: {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly projections: readonly AnyProjection[];
  readonly current: CurrentGeneration;
  readonly hasCaughtUp: () => boolean;
  readonly checkCaughtUp: () => Promise<void>;
  readonly isAttended: () => Promise<boolean>;
}) {
  const { events, projections, current, hasCaughtUp, checkCaughtUp, isAttended } = deps;
  const estimates = new Map<string, Estimate>();

  function progressOf(readModel: string, readable: boolean): Problem {
    const { id = '', checkpoint } = current.building() ?? {};
    const done = checkpoint?.events ?? 0;
    const total = current.live()?.checkpoint.events ?? 0;
    const estimate = estimates.get(id) ?? createEstimate();
    estimates.set(id, estimate);
    estimate.note(done);
    const secondsLeft = estimate.secondsLeft(total);
    return {
      readModel,
      readable,
      state: 'building',
      done,
      ...defined({ total: total > done ? total : undefined, secondsLeft }),
    };
  }

  async function problems(): Promise<Problem[]> {
    const live = current.live();
    if (live === undefined) return projections.map(({ name }) => progressOf(name, false));
    const failing = live.checkpoint.failing.map(
      ({ name, message, attempts, event }): Problem => ({
        readModel: name,
        readable: false,
        state: 'failing',
        message,
        attempts,
        ...defined({ event: event?.id }),
      }),
    );
    const isRebuilt = current.building() !== undefined;
    const unattended = (await isAttended())
      ? []
      : projections.map(({ name }): Problem => ({ readModel: name, readable: true, state: 'unattended' }));
    return [...failing, ...(isRebuilt ? [progressOf('all', true)] : []), ...unattended];
  }

  /** @param limit at which counting the lag stops */
  return async function status(limit = 1_001): Promise<ReadModelsStatus> {
    await current.refresh();
    // If the log does not answer, counting the lag fails, too.
    await checkCaughtUp();
    const after = current.live()?.checkpoint.position ?? LOG_START;
    let lag = 0;
    let behindSince: string | undefined;
    for await (const { metadata } of events.readAll({ after, limit })) {
      lag += 1;
      behindSince ??= String(metadata.at);
    }
    const eventsShown = current.live()?.checkpoint.events;
    return {
      lag,
      ...defined({ events: eventsShown, behindSince }),
      caughtUp: hasCaughtUp(),
      problems: await problems(),
    };
  };
}
