import { closure as closureAggregate, spaceDay } from '../src/commands/aggregates.ts';
import { wallDay } from '../src/domain/calendar.ts';
import { type Closure, spaceDatesOf } from '../src/domain/closure.ts';
import type { ClosureEvent, SpaceDayEvent } from '../src/domain/events.ts';
import { bookedTime, closedTime, heldTimes, type Interval, overlaps } from '../src/domain/held-times.ts';
import { knownEvent } from '../src/domain/known-event.ts';
import { heldHours, type SpaceDay } from '../src/domain/space-day.ts';
import { streamOf } from '../src/domain/streams.ts';
import type { EventStore } from '../src/event-store/event-store.ts';

type Found = {
  /** Events that the ones before them on their day do not allow. */
  readonly wrong: readonly string[];
  /** Days of closures that have neither been closed nor left out, or are still closed after the end. */
  readonly halfDone: readonly string[];
};

/** Folds every day and closure of a log, and checks what closed times and own events promise (docs/decisions/bookings.md). */
export async function checkClosedTimes(events: Pick<EventStore, 'readAll'>): Promise<Found> {
  const days = new Map<string, SpaceDay>();
  const closures = new Map<string, Closure>();
  const wrong: string[] = [];
  for await (const stored of events.readAll()) {
    const { stream } = stored;
    if (stream.startsWith('venue_closure-')) {
      const closure = closureAggregate.evolve(closures.get(stream), knownEvent<ClosureEvent>(stored));
      if (closure !== undefined) closures.set(stream, closure);
    }
    if (!stream.startsWith('spaceDay-')) continue;
    const event = knownEvent<SpaceDayEvent>(stored);
    const day = days.get(stream) ?? spaceDay.initial;
    const why = whyWrong(day, event) ?? whyBesideReplaced(day, event, closures);
    if (why !== undefined) wrong.push(`${stream}: ${event.type} ${why}: ${JSON.stringify(event.data)}`);
    days.set(stream, spaceDay.evolve(day, event));
  }
  const halfDone: string[] = [];
  for (const closure of closures.values())
    for (const { spaceId, date } of spaceDatesOf(closure)) {
      const day = days.get(`spaceDay-${spaceId}-${date}`) ?? spaceDay.initial;
      const [isClosed, isOpened] = [day.closed.has(closure.closureId), day.reopened.get(closure.closureId) === true];
      const isOver = closure.hasEnded || closure.datesLeftOut.includes(date);
      const isDone = isOver ? isOpened && !isClosed : isClosed !== isOpened;
      if (!isDone)
        halfDone.push(`${closure.closureId}, space ${spaceId} on ${date}: ${JSON.stringify({ isClosed, isOpened })}`);
    }
  return { wrong, halfDone };
}

function whyWrong(day: SpaceDay, event: SpaceDayEvent): string | undefined {
  // Closed times have no zone of their own. On days without a change of the clocks, any does.
  const date = wallDay(event.data.date, event.type === 'BookingRequested' ? event.data.timeZone : zoneOf(day));
  const { taken, closed, ownEvents } = heldTimes(date, heldHours(day));
  const areHeld = (wanted: Interval) => [...taken, ...closed, ...ownEvents].some((held) => overlaps(held, wanted));
  switch (event.type) {
    case 'BookingRequested':
      return areHeld(bookedTime(date, event.data)) ? 'of held hours' : undefined;
    case 'TimeClosed':
      if (day.closed.has(event.data.closureId)) return 'twice';
      if (day.reopened.has(event.data.closureId)) return 'after its end';
      return event.data.kind === 'OwnEvent' && areHeld(closedTime(date, event.data)) ? 'of held hours' : undefined;
    case 'TimeReopened':
      return day.reopened.has(event.data.closureId) ? 'twice' : undefined;
    default:
      return undefined;
  }
}

/** A change ends what it replaces on a day before it closes that day. */
function whyBesideReplaced(day: SpaceDay, event: SpaceDayEvent, closures: ReadonlyMap<string, Closure>) {
  if (event.type !== 'TimeClosed') return undefined;
  const replaced = closures.get(streamOf.venue_closure(event.data.closureId))?.replaces?.closureId;
  return replaced !== undefined && day.closed.has(replaced) ? `beside ${replaced}, which it replaces` : undefined;
}

/** The zone of the bookings of a day, or any if there are none. */
const zoneOf = (day: SpaceDay): string => heldHours(day).taken[0]?.timeZone ?? 'UTC';
