import { randomUUIDv7 } from 'node:crypto';
import { closures } from '../../projections/closures.ts';
import { communities } from '../../projections/communities.ts';
import { spaces } from '../../projections/spaces.ts';
import { localDate, wallDay } from '../domain/calendar.ts';
import { closeOrLeaveOut, closeTime, notFree, type Obstacle, obstacleTo, reopenTime } from '../domain/closed-time.ts';
import {
  type AddClosure,
  addClosure,
  type Closure,
  endClosure,
  noClosure,
  type SpaceDate,
  spaceDatesOf,
  wrongDateToLeaveOut,
} from '../domain/closure.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { ClosureAdded, TimeClosed } from '../domain/events.ts';
import { bookedTime, closedTime, overlaps } from '../domain/held-times.ts';
import {
  type BookingId,
  type ClosureId,
  type CommunityId,
  closureId,
  type PlainDate,
  type SpaceId,
  spaceId,
} from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import type { SpaceDay } from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { DailyUses } from '../quotas/daily-use.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { inPages } from '../runtime/in-pages.ts';
import { closure, spaceDay } from './aggregates.ts';
import { spacesOf } from './catalogue.ts';
import type { CommandContext, CommandHandler } from './command-handler.ts';

/** Days that are changed at once. */
const AT_ONCE = 16;

export type Progress = (progress: { readonly done: number; readonly total: number }) => void;

/** What became of a closed time or an own event. */
type Closing = {
  readonly closureId: ClosureId;
  /** How many days of spaces are closed now. */
  readonly days: number;
  /** The days that an own event leaves out. */
  readonly skipped: readonly (SpaceDate & { readonly reason: string })[];
  /** The bookings inside the hours. They stay. */
  readonly bookings: readonly BookingId[];
};

/** A closed time or own event that is asked for. */
export type ClosureCommand = Pick<
  AddClosure,
  'kind' | 'from' | 'to' | 'weekdays' | 'start' | 'until' | 'title' | 'importKey'
> & {
  readonly communityId: number;
  /** Default: all of today. */
  readonly spaceIds?: readonly number[];
  /** Adding it again with the same id adds nothing. Default: a new one. */
  readonly closureId?: ClosureId;
};

export type ClosureCommands = {
  /**
   * Closes hours of spaces, or enters an own event: the intention first, then one event for each day of each space. A process that dies
   * meanwhile leaves the rest to the scheduler.
   *
   * Refuses what {@link addClosure} refuses, `ResourceNotFound` for an unknown community or space, and `SlotUnavailable` for an own event if
   * none of its days is free.
   */
  add(command: ClosureCommand, context: CommandContext, progress?: Progress): Promise<Closing | Refusal>;
  /**
   * Why `add` would refuse it now; `there` if it was added before, also if it has ended since; `leftOut` if it was added before, and none of
   * its days was free.
   */
  check(command: ClosureCommand): Promise<Refusal | 'there' | 'leftOut' | undefined>;
  /** Ends it on each of its days, also if it is still being made. Ending it again changes nothing. */
  end(
    command: { readonly closureId: string; readonly communityId: number },
    context: CommandContext,
    progress?: Progress,
  ): Promise<{ readonly closureId: ClosureId; readonly days: number } | Refusal>;
  /**
   * Leaves a date out for good, on all spaces: the hours can be booked again. Leaving out the last date ends it. Leaving a date out again
   * changes nothing.
   *
   * Refuses `ValidationError` for a date that it does not have, or that is over, and while its days are still being closed.
   */
  leaveOut(
    command: { readonly closureId: string; readonly communityId: number; readonly date: PlainDate },
    context: CommandContext,
  ): Promise<{ readonly closureId: ClosureId; readonly hasEnded: boolean } | Refusal>;
  /** Carries out what is left of an intention, or of its end. For the scheduler. */
  finish(closureId: ClosureId, context: CommandContext): Promise<void>;
};

export function createClosureCommands(deps: {
  readonly handler: CommandHandler;
  readonly readModels: ReadModels;
  readonly personalData: Pick<PersonalData, 'openClosures'>;
  readonly clock: Clock;
  readonly uses: Pick<DailyUses, 'take'>;
}): ClosureCommands {
  const { handler, readModels, personalData, clock, uses } = deps;

  /** Why a day is left out, with the title of what holds its hours. */
  async function reasonOf(data: TimeClosed['data'], obstacle: Obstacle | undefined, of: Space): Promise<string> {
    if (obstacle === undefined) return 'The hours were not free.';
    const other =
      typeof obstacle === 'object' && 'closed' in obstacle
        ? (await readModels.collection(closures).get(obstacle.closed.closureId))?.document
        : undefined;
    const [opened] = await personalData.openClosures(other === undefined ? [] : [other]);
    return notFree(data, obstacle, of, opened?.title).details;
  }

  /** Finds the spaces with these ids. */
  async function spacesWith(ids: readonly SpaceId[]): Promise<(id: SpaceId) => Space> {
    const stored = await readModels.collection(spaces).getMany(ids.map(String));
    const byId = new Map(stored.map(({ document }) => [document.spaceId, document]));
    return (id) => {
      const space = byId.get(id);
      if (space === undefined) throw new Error(`Space ${id} has a closed time and is not in the read model`);
      return space;
    };
  }

  /** The spaces that a command names, or all. */
  async function spaceIdsOf(owner: CommunityId, named: readonly number[] | undefined) {
    const owned = new Set<number>();
    for await (const { document } of readModels.collection(spaces).find(spacesOf(owner))) owned.add(document.spaceId);
    const missing = named?.find((id) => !owned.has(id));
    if (missing !== undefined) return refuse('ResourceNotFound', `Community ${owner} has no space ${missing}.`);
    if (owned.size === 0) return refuse('ResourceNotFound', `Community ${owner} has no space.`);
    return [...new Set(named ?? owned)].map(spaceId);
  }

  /** Runs `change` on each day of a closure. @returns the results, in the order of the days */
  async function onEachDay<R>(
    days: readonly SpaceDate[],
    change: (day: SpaceDate) => Promise<R>,
    progress?: Progress,
  ): Promise<R[]> {
    const results: R[] = [];
    for await (const page of inPages(days, AT_ONCE)) {
      for (const result of await Promise.all(page.map(change))) results.push(result);
      faultPoint('some days of a closure are done, others not');
      progress?.({ done: results.length, total: days.length });
    }
    return results;
  }

  async function closeDays(of: Closure, context: CommandContext, progress?: Progress) {
    const spaceOf = await spacesWith(of.spaceIds);
    return onEachDay(
      spaceDatesOf(of),
      async (day) => {
        const data = timeClosedOn(of, day);
        const space = spaceOf(day.spaceId);
        const stream = streamOf.spaceDay(day.spaceId, day.date);
        let obstacle: Obstacle | undefined;
        const decide = (state: SpaceDay) => {
          obstacle = obstacleTo(data, state, space);
          return closeOrLeaveOut(state, data, space);
        };
        const outcome = await handler.execute(stream, spaceDay, context, decide, { isCounted: true });
        // Left out before, or ended meanwhile.
        if (isRefusal(outcome) || !outcome.state.closed.has(of.closureId))
          return { ...day, isClosed: false, bookings: [], reason: await reasonOf(data, obstacle, space) };
        const wall = wallDay(day.date, space.timeZone);
        const bookings = Array.from(outcome.state.open.values(), ({ request }) => request).filter((request) =>
          overlaps(bookedTime(wall, request), closedTime(wall, data)),
        );
        return { ...day, isClosed: true, reason: '', bookings: bookings.map(({ bookingId }) => bookingId) };
      },
      progress,
    );
  }

  const openDays = (
    { closureId, communityId }: Closure,
    days: readonly SpaceDate[],
    context: CommandContext,
    progress?: Progress,
  ) =>
    onEachDay(
      days,
      (day) =>
        handler.execute(streamOf.spaceDay(day.spaceId, day.date), spaceDay, context, (state) =>
          reopenTime(state, { ...day, closureId, communityId }),
        ),
      progress,
    );

  /** Counts the intention and the events of all days before the first one is appended: one refused halfway would stay unfinished. */
  async function countAll(
    intended: readonly ClosureAdded[],
    { actor: { account } }: CommandContext,
  ): Promise<Refusal | undefined> {
    const days = intended.flatMap(({ data }) => spaceDatesOf(data).map((day) => timeClosedOn(data, day)));
    const [first] = days;
    if (account === undefined || first === undefined) return undefined;
    const bytesOf = (data: object) => Buffer.byteLength(JSON.stringify(data));
    return uses.take(account, {
      events: intended.length + days.length,
      bytes: bytesOf(intended) + days.length * bytesOf(first),
    });
  }

  const load = (id: string) => handler.load(streamOf.venue_closure(id), closure);

  async function endAll(of: Closure, context: CommandContext, progress?: Progress): Promise<Refusal | number> {
    const ended = await handler.execute(streamOf.venue_closure(of.closureId), closure, context, (state) =>
      endClosure(state, of),
    );
    if (isRefusal(ended)) return ended;
    return (await openDays(of, spaceDatesOf(of), context, progress)).length;
  }

  /** An own event on a single day that is not free is refused before anything is appended. A request may still come first. */
  async function whyTaken(data: ClosureAdded['data']): Promise<Refusal | undefined> {
    const [day, ...more] = spaceDatesOf(data);
    if (data.kind !== 'OwnEvent' || day === undefined || more.length > 0) return undefined;
    const state = await handler.load(streamOf.spaceDay(day.spaceId, day.date), spaceDay);
    const space = (await spacesWith([day.spaceId]))(day.spaceId);
    const wanted = timeClosedOn(data, day);
    const decision = closeTime(state, wanted, space);
    if (!isRefusal(decision) || decision.refused !== 'SlotUnavailable') return undefined;
    return refuse('SlotUnavailable', await reasonOf(wanted, obstacleTo(wanted, state, space), space));
  }

  /** What to add, or why it is refused before anything is appended. */
  async function plan({ communityId: owner, spaceIds: named, closureId: given, ...wanted }: ClosureCommand) {
    const owning = await readModels.collection(communities).get(String(owner));
    if (owning === undefined) return refuse('ResourceNotFound', `There is no community ${owner}.`);
    const { communityId: id, timeZone } = owning.document;
    const spaceIds = await spaceIdsOf(id, named);
    if (isRefusal(spaceIds)) return spaceIds;
    const command = { ...wanted, closureId: given ?? closureId(randomUUIDv7()), communityId: id, spaceIds };
    const today = localDate(clock(), timeZone);
    const planned = addClosure(undefined, command, today);
    if (isRefusal(planned)) return planned;
    for (const { data } of planned) {
      const refusal = await whyTaken(data);
      if (refusal !== undefined) return refusal;
    }
    return { command, today, intended: planned };
  }

  return {
    async check(wanted) {
      const before = wanted.closureId && (await load(wanted.closureId));
      if (before) {
        const stored = before.hasEnded ? await readModels.collection(closures).get(before.closureId) : undefined;
        return stored !== undefined && stored.document.leftOut.length === stored.document.days ? 'leftOut' : 'there';
      }
      const planned = await plan(wanted);
      return isRefusal(planned) ? planned : undefined;
    },

    async add(wanted, context, progress) {
      const planned = await plan(wanted);
      if (isRefusal(planned)) return planned;
      const { command, today, intended } = planned;
      const tooMuch = await countAll(intended, context);
      if (tooMuch !== undefined) return tooMuch;
      const stream = streamOf.venue_closure(command.closureId);
      const decide = (state: Closure | undefined) => addClosure(state, command, today);
      const added = await handler.execute(stream, closure, context, decide, { isCounted: true });
      if (isRefusal(added)) return added;
      const { state } = added;
      if (state === undefined) throw new Error(`Closure ${command.closureId} was added and is not there`);
      // It is there already: the process that added it, or the scheduler, carries it out.
      if (added.events.length === 0) return { closureId: state.closureId, days: 0, skipped: [], bookings: [] };
      const days = await closeDays(state, context, progress);
      const closed = days.filter(({ isClosed }) => isClosed);
      if ((await load(state.closureId))?.hasEnded)
        return refuse('ResourceNotFound', `Closed time ${state.closureId} was ended while it was being made.`);
      if (closed.length === 0) {
        const ended = await endAll(state, context);
        const [first, ...others] = days;
        const reason = others.length > 0 ? 'The hours are not free on any of the days.' : first?.reason;
        return isRefusal(ended) ? ended : refuse('SlotUnavailable', reason ?? '');
      }
      return {
        closureId: state.closureId,
        days: closed.length,
        skipped: days
          .filter(({ isClosed }) => !isClosed)
          .map(({ spaceId, date, reason }) => ({ spaceId, date, reason })),
        bookings: closed.flatMap(({ bookings }) => bookings),
      };
    },

    async end({ closureId: id, communityId: owner }, context, progress) {
      const state = await load(id);
      if (state === undefined || state.communityId !== owner) return noClosure(id);
      const days = await endAll(state, context, progress);
      return isRefusal(days) ? days : { closureId: state.closureId, days };
    },

    async leaveOut({ closureId: id, communityId: owner, date }, context) {
      const state = await load(id);
      const document = (await readModels.collection(closures).get(id))?.document;
      const owning = await readModels.collection(communities).get(String(owner));
      if (state === undefined || state.communityId !== owner || owning === undefined) return noClosure(id);
      if (state.hasEnded) return { closureId: state.closureId, hasEnded: true };
      if (document === undefined || document.state === 'Working')
        return refuse('ValidationError', 'Its days are still being closed. Try again in a moment.');
      const refusal = wrongDateToLeaveOut(state, date, localDate(clock(), owning.document.timeZone));
      if (refusal !== undefined) return refusal;
      const days = state.spaceIds.map((spaceId) => ({ spaceId, date }));
      const others = document.leftOut.filter((day) => day.date !== date);
      const isLast = others.length + days.length === document.days;
      const outcome = isLast
        ? await endAll(state, context)
        : (await openDays(state, days, context)).find((opened) => isRefusal(opened));
      return isRefusal(outcome) ? outcome : { closureId: state.closureId, hasEnded: isLast };
    },

    async finish(id, context) {
      const state = await load(id);
      if (state === undefined) return;
      if (state.hasEnded) await openDays(state, spaceDatesOf(state), context);
      else if (!(await closeDays(state, context)).some(({ isClosed }) => isClosed)) await endAll(state, context);
    },
  };
}

/** The event of a day. The title is in the intention alone. */
const timeClosedOn = (
  { closureId, communityId, kind, start, until }: Omit<ClosureAdded['data'], 'title'>,
  day: SpaceDate,
): TimeClosed['data'] => ({ ...day, closureId, communityId, kind, start, until });
