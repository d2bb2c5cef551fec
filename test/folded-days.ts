import { spaceDay } from '../src/commands/aggregates.ts';
import { wallDay } from '../src/domain/calendar.ts';
import type { SpaceDayEvent } from '../src/domain/events.ts';
import { bookedTime, closedTime, overlaps } from '../src/domain/held-times.ts';
import { knownEvent } from '../src/domain/known-event.ts';
import type { SpaceDay } from '../src/domain/space-day.ts';
import type { EventStore } from '../src/event-store/event-store.ts';

/** Folds every day of a log, with the events after which bookings overlap, or that bring one into closed hours. */
export async function foldedDays(events: Pick<EventStore, 'readAll'>) {
  const days = new Map<string, SpaceDay>();
  const wrong: string[] = [];
  let moves = 0;
  for await (const stored of events.readAll()) {
    if (!stored.stream.startsWith('spaceDay-')) continue;
    const event = knownEvent<SpaceDayEvent>(stored);
    if (event.type === 'BookingMoved') moves += 1;
    if (event.type === 'BookingMoved' || event.type === 'BookingRequested') {
      const wall = wallDay(event.data.date, event.data.timeZone);
      const closed = [...(days.get(event.stream)?.closed.values() ?? [])].map((hours) => closedTime(wall, hours));
      if (closed.some((time) => overlaps(time, bookedTime(wall, event.data))))
        wrong.push(`${event.stream}: closed at ${JSON.stringify(event.data)}`);
    }
    const day = spaceDay.evolve(days.get(event.stream) ?? spaceDay.initial, event);
    days.set(event.stream, day);
    const times = [...day.held.values()].map(({ request }) =>
      bookedTime(wallDay(request.date, request.timeZone), request),
    );
    const overlap = times.some((one, index) => times.slice(index + 1).some((two) => overlaps(one, two)));
    if (overlap) wrong.push(`${event.stream}: ${event.type} ${JSON.stringify(event.data)}`);
  }
  return { days, wrong, moves };
}
