import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { spaces } from '../../projections/spaces.ts';
import type { Core } from '../../src/app.ts';
import type { Refusal } from '../../src/domain/decision.ts';
import type { BookingEvent } from '../../src/domain/events.ts';
import { bookingId } from '../../src/domain/ids.ts';
import {
  approveBooking,
  completeBooking,
  EMPTY_SPACE_DAY,
  evolveSpaceDay,
  requestBooking,
  type SpaceDay,
} from '../../src/domain/space-day.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { logEnd, type StoredEvent } from '../../src/event-store/event-store.ts';
import { numberOf, positionOf } from '../../src/event-store/sqlite/stored-event.ts';
import { DAY_MS, dateIn, done, recorded, SLOTS_PER_DAY, type Venue, withCore } from './venue.ts';

/** Events in one transaction. */
const LOADED_AT_ONCE = 20_000;

/** What has become of the bookings: one event each, or three. */
type Fate = 'requested' | 'completed';

/**
 * Fills a log with bookings as fast as the log can be written, and waits until the read models show them. They belong to all spaces
 * of the venue and begin in ten days.
 */
export async function fillWithBookings(venue: Venue, bookings: number, fate: Fate): Promise<void> {
  await withCore(venue.dataDir, async (core) => {
    let waiting: StoredEvent[] = [];
    for await (const event of eventsOf(core, venue, bookings, fate)) {
      waiting.push(event);
      if (waiting.length < LOADED_AT_ONCE) continue;
      await core.events.load(waiting);
      waiting = [];
    }
    await core.events.load(waiting);
    while ((await core.projector.status()).lag > 0) await delay(250);
  });
}

async function* eventsOf(core: Core, venue: Venue, bookings: number, fate: Fate): AsyncGenerator<StoredEvent> {
  const context = { now: Date.now(), serviceFeePercent: 15, currency: 'USD' };
  const brand = { brandId: venue.brandId, name: 'Bench' };
  const collection = core.projector.readModels.collection(spaces);
  let position = numberOf(await logEnd(core.events));
  let made = 0;
  for (let day = 0; made < bookings; day += 1) {
    const date = dateIn(10 + day);
    for (const spaceId of venue.spaceIds) {
      const found = await collection.get(String(spaceId));
      if (found === undefined) throw new Error('The space is not in the read model');
      const space = found.document;
      const count = Math.min(SLOTS_PER_DAY, bookings - made);
      const ids = Array.from({ length: count }, (_, i) => bookingId(1_000_000 + made + i));
      made += count;
      let state: SpaceDay = EMPTY_SPACE_DAY;
      let revision = 0;
      const stored: StoredEvent[] = [];
      const take = (decision: readonly BookingEvent[] | Refusal) => {
        for (const event of done(decision)) {
          state = evolveSpaceDay(state, event);
          position += 1;
          const stream = streamOf.spaceDay(spaceId, date);
          stored.push({
            ...recorded(event),
            id: randomUUID(),
            stream,
            revision: revision++,
            position: positionOf(position),
          });
        }
      };
      for (const [startHour, id] of ids.entries())
        take(requestBooking(state, { bookingId: id, space, brand, details: { spaceId, date, startHour } }, context));
      if (fate === 'completed') {
        const { communityId } = space;
        for (const id of ids) take(approveBooking(state, { bookingId: id, communityId }, context));
        const over = { now: Date.parse(date) + 2 * DAY_MS };
        for (const id of ids) take(completeBooking(state, { bookingId: id }, over));
      }
      yield* stored;
    }
  }
}
