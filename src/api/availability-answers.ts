import { toAvailabilityResponse } from '../contract/availability.ts';
import { lengthOf } from '../domain/booking-moments.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import { digest } from '../http/entity-tag.ts';
import type { Availability } from '../queries/availability.ts';
import { digestOf } from './entity-tags.ts';

/** The answer for a space on a date, with its inputs. */
type Answer = Pick<Availability, 'space' | 'heldHours' | 'time'> & {
  /** Identifies its inputs. */
  readonly version: string;
  /** JSON. */
  readonly text: string;
};

/** About 2 KB each. */
const MAX_ANSWERS = 2_000;

/** Makes answers, and caches them until an input changes. */
export function createAvailabilityAnswers(): (availability: Availability) => Answer {
  const answers = createLruCache<string, Answer>(MAX_ANSWERS);
  return (availability) => {
    const { space, date, heldHours, time } = availability;
    const key = `${space.spaceId} ${date}`;
    const cached = answers.get(key);
    // Documents are immutable, and an engine that caches them returns the same objects.
    if (cached?.space === space && cached.heldHours === heldHours && cached.time === time) return cached;
    // Only the hours: the answer does not show the holders of hours or their status, so its tag must not either.
    const hours = [
      heldHours.taken.map((booking) => [booking.startHour, lengthOf(booking), booking.timeZone]),
      heldHours.closed.map(({ kind, start, until }) => [kind, start, until]),
    ];
    const version = `${digestOf(space)}.${digest(JSON.stringify(hours))}.${time}`;
    const text = cached?.version === version ? cached.text : JSON.stringify(toAvailabilityResponse(availability));
    const answer = { space, heldHours, time, version, text };
    answers.set(key, answer);
    return answer;
  };
}
