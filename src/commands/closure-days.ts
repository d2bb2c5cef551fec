import { closures } from '../../projections/closures.ts';
import { spaces } from '../../projections/spaces.ts';
import { wallDay } from '../domain/calendar.ts';
import { closeOrLeaveOut, notFree, type Obstacle, obstacleTo, reopenTime } from '../domain/closed-time.ts';
import { type Closure, type SpaceDate, spaceDatesOf } from '../domain/closure.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { ClosureAdded, TimeClosed } from '../domain/events.ts';
import { bookedTime, closedTime, overlaps } from '../domain/held-times.ts';
import { type BookingId, type ClosureId, type CommunityId, closureId, type SpaceId } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import { isOpen, type SpaceDay } from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { spaceDay } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

/** Days that are changed at once. Between them, other commands have their turn. */
const DAYS_AT_ONCE = 16;

export type Progress = (progress: { readonly done: number; readonly total: number }) => void;

/** A booking, and the day of a space that it holds hours of. */
export type HeldDay = SpaceDate & { readonly communityId: CommunityId; readonly bookingId: BookingId };

/** For an own event that is only thought of. */
const ANY = closureId('-');

/** Carries out closed times and own events on their days, one event for each. */
export function createClosureDays({ handler, readModels, personalData }: CommandDeps) {
  /** Why a day is left out, with the title of what holds its hours. */
  async function reasonOf(data: TimeClosed['data'], obstacle: Obstacle | undefined, of: Space): Promise<string> {
    if (obstacle === undefined) return 'The hours were not free.';
    const other =
      typeof obstacle === 'object' && 'closed' in obstacle
        ? await readModels.collection(closures).get(obstacle.closed.closureId)
        : undefined;
    const [opened] = await personalData.openClosures(other === undefined ? [] : [other]);
    return notFree(data, obstacle, of, opened?.title).details;
  }

  /** Why the hours of a closed time or an own event are not free on a day; undefined if they are. */
  async function whyNotFree(
    data: TimeClosed['data'],
    day: Pick<SpaceDay, 'held' | 'closed'>,
    space: Space,
    replaced?: ClosureId,
  ): Promise<Refusal | undefined> {
    const obstacle = obstacleTo(data, day, space, replaced);
    return obstacle && refuse('SlotUnavailable', await reasonOf(data, obstacle, space));
  }

  /** Finds the spaces with these ids. */
  async function spacesWith(ids: readonly SpaceId[]): Promise<(id: SpaceId) => Space> {
    const byKey = await readModels.collection(spaces).getMany(ids.map(String));
    return (id) => {
      const space = byKey.get(String(id));
      if (space === undefined) throw new Error(`Space ${id} has a closed time and is not in the read model`);
      return space;
    };
  }

  /** Runs `change` on each of these days. @returns the results, in the order of the days */
  async function onEachDay<R>(
    days: readonly SpaceDate[],
    change: (day: SpaceDate) => Promise<R>,
    progress?: Progress,
  ): Promise<R[]> {
    const results: R[] = [];
    for await (const page of inPages(days, DAYS_AT_ONCE)) {
      for (const result of await Promise.all(page.map(change))) results.push(result);
      faultPoint('some days of a closure are done, others not');
      progress?.({ done: results.length, total: days.length });
    }
    return results;
  }

  /** @returns whether the day is closed now, the bookings inside the hours, which stay, or why it is not closed */
  async function closeDay(of: Closure, day: SpaceDate, space: Space, context: CommandContext) {
    const data = timeClosedOn(of, day);
    const replaced = of.replaces?.closureId;
    const stream = streamOf.spaceDay(day.spaceId, day.date);
    let obstacle: Obstacle | undefined;
    const decide = (state: SpaceDay) => {
      obstacle = obstacleTo(data, state, space, replaced);
      return closeOrLeaveOut(state, data, space, replaced);
    };
    const outcome = await handler.execute(stream, spaceDay, context, decide, { isCounted: true });
    // Left out before, or ended meanwhile.
    if (isRefusal(outcome) || !outcome.state.closed.has(of.closureId))
      return { ...day, isClosed: false, bookings: [], reason: await reasonOf(data, obstacle, space) };
    const wall = wallDay(day.date, space.timeZone);
    const bookings = [...outcome.state.held.values()].filter(
      (booking) => isOpen(booking) && overlaps(bookedTime(wall, booking.request), closedTime(wall, data)),
    );
    return { ...day, isClosed: true, reason: '', bookings: bookings.map(({ request }) => request.bookingId) };
  }

  const openDay = ({ closureId, communityId }: Closure, day: SpaceDate, context: CommandContext) =>
    handler.execute(streamOf.spaceDay(day.spaceId, day.date), spaceDay, context, (state) =>
      reopenTime(state, { ...day, closureId, communityId }),
    );

  return {
    whyNotFree,
    spacesWith,

    /** Closes its days, except those of dates that were left out. */
    async close(of: Closure, context: CommandContext, progress?: Progress) {
      const spaceOf = await spacesWith(of.spaceIds);
      return onEachDay(
        spaceDatesOf(of),
        async (day) => {
          if (!of.datesLeftOut.includes(day.date)) return closeDay(of, day, spaceOf(day.spaceId), context);
          await openDay(of, day, context);
          return { ...day, isClosed: false, bookings: [], reason: 'The date was left out.' };
        },
        progress,
      );
    },

    /** Why an own event would not be free on the days of these bookings if they were cancelled; undefined if it would be on all of them. */
    async whyStillTaken(
      { start, until }: Pick<TimeClosed['data'], 'start' | 'until'>,
      bookings: readonly HeldDay[],
    ): Promise<Refusal | undefined> {
      const spaceOf = await spacesWith(bookings.map(({ spaceId }) => spaceId));
      const ids = new Set(bookings.map(({ bookingId }) => bookingId));
      for (const [stream, [day]] of Map.groupBy(bookings, (each) => streamOf.spaceDay(each.spaceId, each.date))) {
        if (day === undefined) continue;
        const { held, closed } = await handler.load(stream, spaceDay);
        const others = new Map([...held].filter(([id]) => !ids.has(id)));
        const { spaceId, communityId, date } = day;
        const data = { spaceId, communityId, date, kind: 'OwnEvent', start, until, closureId: ANY } as const;
        const refusal = await whyNotFree(data, { held: others, closed }, spaceOf(spaceId));
        if (refusal !== undefined) return refusal;
      }
      return undefined;
    },

    /** Opens some of its days for good. */
    open: (of: Closure, days: readonly SpaceDate[], context: CommandContext, progress?: Progress) =>
      onEachDay(days, (day) => openDay(of, day, context), progress),
  };
}

/** The event of a day. The title is in the intention alone. */
export const timeClosedOn = (
  { closureId, communityId, kind, start, until }: Omit<ClosureAdded['data'], 'title'>,
  day: SpaceDate,
): TimeClosed['data'] => ({ ...day, closureId, communityId, kind, start, until });
