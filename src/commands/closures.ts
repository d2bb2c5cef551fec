import { randomUUIDv7 } from 'node:crypto';
import { type ClosureDocument, closures } from '../../projections/closures.ts';
import { communities } from '../../projections/communities.ts';
import { spaces } from '../../projections/spaces.ts';
import { localDate } from '../domain/calendar.ts';
import {
  type AddClosure,
  addClosure,
  type Closure,
  endClosure,
  leaveOutDate,
  noClosure,
  type SpaceDate,
  spaceDatesOf,
} from '../domain/closure.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { ClosureAdded } from '../domain/events.ts';
import { type BookingId, type ClosureId, type CommunityId, closureId, type PlainDate, spaceId } from '../domain/ids.ts';
import { streamOf } from '../domain/streams.ts';
import { closure, spaceDay } from './aggregates.ts';
import { spacesOf } from './catalogue.ts';
import { type ClosureChange, intendedAgain, intendedChange, notLeftOut } from './closure-change.ts';
import { createClosureDays, type Progress, timeClosedOn } from './closure-days.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

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

const NOT_ITS_DAYS = refuse('ValidationError', 'It has none of these days any more.');
const STILL_WORKING = refuse('ValidationError', 'Its days are still being closed or opened. Try again in a moment.');

type Named = { readonly closureId: string; readonly communityId: number };

const NOTHING_DONE = { days: 0, skipped: [], bookings: [] } as const;

/** Whether it was left out on each of its days when it was added. */
const wasNeverFree = ({ closedDays, leftOut, days }: ClosureDocument): boolean =>
  closedDays === 0 && leftOut.length === days;

export type ClosureCommands = ReturnType<typeof createClosureCommands>;

export function createClosureCommands(deps: CommandDeps) {
  const { handler, readModels, personalData, clock, uses } = deps;
  const days = createClosureDays(deps);

  /** The spaces that a command names, or all. */
  async function spaceIdsOf(owner: CommunityId, named: readonly number[] | undefined) {
    const owned = new Set<number>();
    for await (const { spaceId } of readModels.collection(spaces).find(spacesOf(owner))) owned.add(spaceId);
    const missing = named?.find((id) => !owned.has(id));
    if (missing !== undefined) return refuse('ResourceNotFound', `Community ${owner} has no space ${missing}.`);
    if (owned.size === 0) return refuse('ResourceNotFound', `Community ${owner} has no space.`);
    return [...new Set(named ?? owned)].map(spaceId);
  }

  /** Counts the intention and the events of all days before the first one is appended: one refused halfway would stay unfinished. */
  async function countAll(
    { data }: ClosureAdded,
    { actor: { account } }: CommandContext,
  ): Promise<Refusal | undefined> {
    const closed = spaceDatesOf(data);
    const [first] = closed;
    if (account === undefined || first === undefined) return undefined;
    const bytesOf = (each: object) => Buffer.byteLength(JSON.stringify(each));
    const bytes = bytesOf(data) + closed.length * bytesOf(timeClosedOn(data, first));
    return uses.take(account, { events: 1 + closed.length, bytes });
  }

  const load = (id: string) => handler.load(streamOf.venue_closure(id), closure);

  async function endAll(of: Closure, context: CommandContext, progress?: Progress): Promise<Refusal | number> {
    const ended = await handler.execute(streamOf.venue_closure(of.closureId), closure, context, (state) =>
      endClosure(state, of),
    );
    if (isRefusal(ended)) return ended;
    return (await days.open(of, spaceDatesOf(of), context, progress)).length;
  }

  /** An own event on a single day that is not free is refused before anything is appended. A request may still come first. */
  async function whyTaken(data: ClosureAdded['data']): Promise<Refusal | undefined> {
    const [day, ...more] = spaceDatesOf(data);
    if (data.kind !== 'OwnEvent' || day === undefined || more.length > 0) return undefined;
    const state = await handler.load(streamOf.spaceDay(day.spaceId, day.date), spaceDay);
    // It has come to this day before.
    if (state.closed.has(data.closureId) || state.reopened.has(data.closureId)) return undefined;
    const space = (await days.spacesWith([day.spaceId]))(day.spaceId);
    return days.whyNotFree(timeClosedOn(data, day), state, space, data.replaces?.closureId);
  }

  /** Appends an intention, and carries it out. */
  async function begin(
    intended: ClosureAdded,
    context: CommandContext,
    progress?: Progress,
  ): Promise<Closing | Refusal> {
    const tooMuch = await countAll(intended, context);
    if (tooMuch !== undefined) return tooMuch;
    const stream = streamOf.venue_closure(intended.data.closureId);
    const decide = (before: Closure | undefined) => (before === undefined ? [intended] : []);
    const added = await handler.execute(stream, closure, context, decide, { isCounted: true });
    if (isRefusal(added)) return added;
    const { state } = added;
    if (state === undefined) throw new Error(`Closure ${intended.data.closureId} was added and is not there`);
    // It is there already: the process that added it, or the scheduler, carries it out.
    if (added.events.length === 0) return { ...NOTHING_DONE, closureId: state.closureId };
    return carryOut(state, context, progress);
  }

  /** Closes the days of an intention, and says what became of them. Without one, it ends at once. */
  async function carryOut(state: Closure, context: CommandContext, progress?: Progress): Promise<Closing | Refusal> {
    const outcomes = await days.close(state, context, progress);
    const closed = outcomes.filter(({ isClosed }) => isClosed);
    if ((await load(state.closureId))?.hasEnded)
      return refuse('ResourceNotFound', `Closed time ${state.closureId} was ended while it was being made.`);
    if (closed.length === 0) {
      const ended = await endAll(state, context);
      const [first, ...others] = outcomes;
      const reason = others.length > 0 ? 'The hours are not free on any of the days.' : first?.reason;
      return isRefusal(ended) ? ended : refuse('SlotUnavailable', reason ?? '');
    }
    await endReplaced(state, context);
    return {
      closureId: state.closureId,
      days: closed.length,
      skipped: outcomes
        .filter(({ isClosed }) => !isClosed)
        .map(({ spaceId, date, reason }) => ({ spaceId, date, reason })),
      bookings: closed.flatMap(({ bookings }) => bookings),
    };
  }

  /** Ends what a closed time has replaced once that has no day left. */
  async function endReplaced({ closureId: replacedBy, replaces }: Closure, context: CommandContext): Promise<void> {
    const replaced = replaces && (await load(replaces.closureId));
    const stored = replaces && (await readModels.collection(closures).get(replaces.closureId));
    if (!replaced || replaced.hasEnded || stored?.leftOut.length !== stored?.days) return;
    await endAll({ ...replaced, replacedBy }, context);
  }

  /** A closed time that a command of its community names, and the date there. */
  async function currentOf({ closureId: id, communityId: owner }: Named) {
    const stored = await readModels.collection(closures).get(id);
    const owning = await readModels.collection(communities).get(String(owner));
    if (stored === undefined || stored.communityId !== owner || owning === undefined) return noClosure(id);
    if (stored.endedAt === undefined && stored.state === 'Working') return STILL_WORKING;
    return { stored, today: localDate(clock(), owning.timeZone) };
  }

  /** What to add, or why it is refused before anything is appended. */
  async function plan({ communityId: owner, spaceIds: named, closureId: given, ...wanted }: ClosureCommand) {
    const owning = await readModels.collection(communities).get(String(owner));
    if (owning === undefined) return refuse('ResourceNotFound', `There is no community ${owner}.`);
    const { communityId: id, timeZone } = owning;
    const spaceIds = await spaceIdsOf(id, named);
    if (isRefusal(spaceIds)) return spaceIds;
    const command = { ...wanted, closureId: given ?? closureId(randomUUIDv7()), communityId: id, spaceIds };
    const planned = addClosure(undefined, command, localDate(clock(), timeZone));
    if (isRefusal(planned)) return planned;
    const [intended] = planned;
    if (intended === undefined) throw new Error('A new closed time is an event');
    return (await whyTaken(intended.data)) ?? intended;
  }

  return {
    /**
     * Why `add` would refuse it now; `there` if it was added before, also if it has ended since; `leftOut` if it was added before, and none of
     * its days was free.
     */
    async check(wanted: ClosureCommand): Promise<Refusal | 'there' | 'leftOut' | undefined> {
      const before = wanted.closureId && (await load(wanted.closureId));
      if (before) {
        const stored = before.hasEnded ? await readModels.collection(closures).get(before.closureId) : undefined;
        return stored !== undefined && wasNeverFree(stored) ? 'leftOut' : 'there';
      }
      const planned = await plan(wanted);
      return isRefusal(planned) ? planned : undefined;
    },

    /**
     * Closes hours of spaces, or enters an own event: the intention first, then one event for each day of each space. A process that dies
     * meanwhile leaves the rest to the scheduler.
     *
     * Refuses what {@link addClosure} refuses, `ResourceNotFound` for an unknown community or space, and `SlotUnavailable` for an own event if
     * none of its days is free.
     */
    async add(wanted: ClosureCommand, context: CommandContext, progress?: Progress): Promise<Closing | Refusal> {
      const planned = await plan(wanted);
      if (isRefusal(planned)) return planned;
      return begin(planned, context, progress);
    },

    /** Ends it on each of its days, also if it is still being made. Ending it again changes nothing. */
    async end({ closureId: id, communityId: owner }: Named, context: CommandContext, progress?: Progress) {
      const state = await load(id);
      if (state === undefined || state.communityId !== owner) return noClosure(id);
      const ended = await endAll(state, context, progress);
      return isRefusal(ended) ? ended : { closureId: state.closureId, days: ended };
    },

    /**
     * Changes hours or title, on all dates from today on or on one: another closed time takes its days over, each in one append, and it ends without
     * a day left. A day on which an own event cannot have the new hours is listed, and keeps it as it was.
     *
     * Refuses what `changeClosure` of the domain refuses, and `SlotUnavailable` if none of the days can change; it then is as it was.
     */
    async change(
      { closureId: id, communityId: owner, ...wanted }: Named & ClosureChange,
      context: CommandContext,
      progress?: Progress,
    ): Promise<Closing | Refusal> {
      const found = await currentOf({ closureId: id, communityId: owner });
      if (isRefusal(found)) return found;
      const { stored } = found;
      const replaced = await load(id);
      if (replaced === undefined) return noClosure(id);
      const intended = await intendedChange({ ...found, replaced }, wanted, personalData);
      if (isRefusal(intended)) return intended;
      const [change] = intended;
      if (change === undefined) return { ...NOTHING_DONE, closureId: stored.closureId };
      const outcome = (await whyTaken(change.data)) ?? (await begin(change, context, progress));
      if (isRefusal(outcome)) return outcome;
      return { ...outcome, skipped: notLeftOut(outcome.skipped, stored) };
    },

    whyStillTaken: days.whyStillTaken,

    /**
     * Enters an own event again on days that it has left out and that may be free by now: on each date an own event of its own. Says on how many of
     * the days it is.
     */
    async enterAgain(
      { days: wanted, ...name }: Named & { readonly days: readonly SpaceDate[] },
      context: CommandContext,
    ): Promise<{ readonly days: number } | Refusal> {
      const found = await currentOf(name);
      if (isRefusal(found)) return found;
      const others = new Set(notLeftOut(wanted, found.stored));
      const again = wanted.filter((day) => !others.has(day));
      let entered = 0;
      for (const [date, onDate] of Map.groupBy(again, (day) => day.date)) {
        const spaceIds = [...new Set(onDate.map(({ spaceId }) => spaceId))];
        const intended = await intendedAgain(found, { date, spaceIds }, personalData);
        if (isRefusal(intended)) return intended;
        for (const each of intended) {
          const outcome = (await whyTaken(each.data)) ?? (await begin(each, context));
          if (!isRefusal(outcome)) entered += outcome.days;
        }
      }
      return { days: entered };
    },

    /**
     * Leaves a date out for good, on all spaces: the hours can be booked again. Leaving out the last date ends it. Leaving a date out again
     * changes nothing.
     *
     * Refuses `ValidationError` for a date that it does not have, or that is over, and while its days are still being closed.
     */
    async leaveOut({ date, ...name }: Named & { readonly date: PlainDate }, context: CommandContext) {
      const found = await currentOf(name);
      if (isRefusal(found)) return found;
      const { stored, today } = found;
      const { closureId, leftOut, spaceIds } = stored;
      const onDate = spaceIds.map((spaceId) => ({ spaceId, date }));
      // A change that takes the date over first has it on another closed time.
      const isOver = notLeftOut(onDate, stored).length === 0 && !stored.datesLeftOut.includes(date);
      if (isOver && stored.endedAt === undefined) return NOT_ITS_DAYS;
      const outcome = await handler.execute(streamOf.venue_closure(closureId), closure, context, (current) =>
        leaveOutDate(current, { closureId, communityId: stored.communityId, date }, today),
      );
      if (isRefusal(outcome)) return outcome;
      if (outcome.state === undefined || outcome.state.hasEnded) return { closureId, hasEnded: true };
      const opened = await days.open(outcome.state, onDate, context);
      const areNew = opened.some((day) => !isRefusal(day) && day.events.length > 0);
      if (outcome.events.length > 0 && !areNew) return NOT_ITS_DAYS;
      const others = leftOut.filter((day) => day.date !== date);
      const hasEnded = others.length + spaceIds.length === stored.days;
      const ended = hasEnded ? await endAll(outcome.state, context) : 0;
      return isRefusal(ended) ? ended : { closureId, hasEnded };
    },

    /** Carries out what is left of an intention, or of its end. For the scheduler. */
    async finish(id: ClosureId, context: CommandContext): Promise<void> {
      const state = await load(id);
      if (state === undefined) return;
      if (state.hasEnded) await days.open(state, spaceDatesOf(state), context);
      else if ((await days.close(state, context)).some(({ isClosed }) => isClosed)) await endReplaced(state, context);
      else await endAll(state, context);
    },
  };
}
