import type { AnyProjection } from '../../projections/projection.ts';
import type { Position } from '../event-store/event-store.ts';
import type { KnownModels } from './known-models.ts';
import { idOf, type Positions, placeOf, type ReadModelStateStore } from './state.ts';

/** Which read models to wait for, and for how long. */
export type WaitFor = {
  /**
   * Those that show events of these types; without types, all. Those of other releases count, too, while somebody looks after
   * them: the next request may go to a process of that release. One that is failing or being built is not waited for, because
   * nothing can be read of it, as soon as every process knows that.
   */
  readonly types?: readonly string[];
  /** These instead, whatever state they are in. */
  readonly projections?: readonly Pick<AnyProjection, 'name'>[];
  /** Default 2,000. */
  readonly timeoutMs?: number;
};

const WAIT_MS = 2_000;
/** Pauses between reads of the positions; the last one repeats. */
const PAUSES_MS = [1, 1, 2, 2, 4, 8, 16, 25] as const;

/** See {@link createWaiting}. */
export type Waiting = ReturnType<typeof createWaiting>;

type Waiter = { readonly position: Position; readonly which: WaitFor; readonly resolve: (reached: boolean) => void };

/** How far the read models are, and who waits for that (docs/decisions/read-models.md). */
export function createWaiting(deps: {
  readonly projections: readonly AnyProjection[];
  readonly known: KnownModels;
  readonly state: Pick<ReadModelStateStore, 'positions'>;
  /** Called with positions that may be new, before anybody who waited for them goes on. */
  readonly onReached: (positions: Positions) => void;
}) {
  const { projections, known, state, onReached } = deps;
  const waiting = new Set<Waiter>();
  let positions: Positions = { groups: [], states: 0 };
  /** Whether what the positions are was last told by the projector, which will tell the next ones, too. */
  let isTold = false;
  let polling = false;
  /** Polls without news, since a waiter arrived or the positions changed. */
  let polls = 0;

  /** How far read models are, by events that they show or by name: under load, many ask at the same position. */
  const shown = new Map<string, Position | undefined>();
  let shownAt = -1;

  function remembered(key: string, find: () => Position | undefined): Position | undefined {
    if (shownAt !== known.changes()) {
      shown.clear();
      shownAt = known.changes();
    }
    if (shown.has(key)) return shown.get(key);
    const upTo = find();
    // Whether one is known to fail depends on the time.
    if (!known.areSomeFailing()) shown.set(key, upTo);
    return upTo;
  }

  function isReached({ position, which }: Waiter): boolean {
    if (which.projections === undefined) {
      const upTo = shownUpTo(which.types);
      return upTo === undefined || upTo >= position;
    }
    const upTo = readUpTo(which.projections);
    return upTo !== undefined && upTo >= position;
  }

  /** How far read models are that are waited for by name. @returns undefined if one of them cannot be read */
  function readUpTo(waitedFor: readonly Pick<AnyProjection, 'name'>[]): Position | undefined {
    return remembered(`: ${waitedFor.map(({ name }) => name).join()}`, () => {
      const positionsOf = projections.flatMap((projection) => {
        if (!waitedFor.some(({ name }) => name === projection.name)) return [];
        const live = known.get(idOf(projection))?.state.live;
        return [live !== undefined && known.isReadable(projection) ? placeOf(positions, live).position : undefined];
      });
      return positionsOf.includes(undefined) ? undefined : positionsOf.sort()[0];
    });
  }

  /** @returns undefined if there is none to wait for */
  function shownUpTo(types: readonly string[] | undefined): Position | undefined {
    return remembered(types?.join() ?? '', () => {
      const ours = projections.map((projection) => {
        const id = idOf(projection);
        return { id, live: known.get(id)?.state.live, types: projection.types };
      });
      const theirs = known.others().map(([id, { live, types }]) => ({ id, live, types }));
      return [...ours, ...theirs]
        .filter(({ id, types: about }) => !known.isKnownToFail(id) && isAbout(about, types))
        .flatMap(({ live }) => (live === undefined ? [] : placeOf(positions, live).position))
        .reduce<Position | undefined>((least, each) => (least === undefined || each < least ? each : least), undefined);
    });
  }

  /** Call whenever the positions or what is known of the read models have changed. */
  function settle(): void {
    shown.clear();
    for (const waiter of waiting) if (isReached(waiter)) waiter.resolve(true);
  }

  /** @param asked whether they were read for it, instead of being told by the projector */
  function reached(now: Positions, asked = false): void {
    positions = now;
    shown.clear();
    isTold = !asked;
    polls = 0;
    onReached(now);
    // A read model that has become live elsewhere meanwhile is waited for, too.
    if (now.states <= known.version()) settle();
    // What is being read may have been asked for before the change.
    else
      known
        .refresh()
        .then(() => (now.states > known.version() ? known.refresh() : undefined))
        .then(settle, () => {});
  }

  /** Polls the positions, with growing pauses, while anyone is waiting. */
  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    while (waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, (isTold ? undefined : PAUSES_MS[polls]) ?? PAUSES_MS.at(-1)));
      polls += 1;
      if (waiting.size === 0) break;
      // If the store does not answer, the wait times out. What the waiter wrote is safe already.
      const now = await state.positions().catch(() => undefined);
      if (now !== undefined && hasMoved(positions, now)) reached(now, true);
    }
    polling = false;
  }

  return {
    positions: () => positions,
    reached,
    settle,

    /** Waits until read models show everything up to `position`. @returns false if they do not in time */
    async waitFor(position: Position, which: WaitFor = {}): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const waiter = { position, which, resolve };
      // What this process takes for unreadable may have become readable since it last looked.
      if (isReached(waiter) && !projections.every(known.isReadable)) await known.refresh().catch(() => {});
      if (isReached(waiter)) return true;
      const timer = setTimeout(resolve, which.timeoutMs ?? WAIT_MS, false);
      waiting.add(waiter);
      polls = 0;
      poll();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(waiter);
      }
    },
  };
}

/** Whether a read model shows any of these types of events. */
const isAbout = (shown: readonly string[] | undefined, types: readonly string[] | undefined): boolean =>
  shown === undefined || types === undefined || types.some((type) => shown.includes(type));

const hasMoved = ({ groups: before, states: statesBefore }: Positions, { groups: now, states }: Positions): boolean =>
  states !== statesBefore ||
  now.length !== before.length ||
  now.some(
    ({ position, collections }, i) =>
      position !== before[i]?.position || collections.length !== before[i]?.collections.length,
  );
