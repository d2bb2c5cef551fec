import { toAvailabilityResponse } from '../contract/availability.ts';
import { AvailabilityResponse } from '../contract/schemas/availability.ts';
import type { Availability } from '../queries/availability.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { digestOf } from './entity-tags.ts';
import { serializerOf } from './serializer.ts';

/** The answer for a space on a date, made of what it depends on. */
type Answer = Pick<Availability, 'space' | 'taken' | 'hoursBegun'> & {
  /** Identifies what it was made of. */
  readonly version: string;
  /** JSON. */
  readonly text: string;
};

/** About 2 KB each. */
const KEPT_ANSWERS = 2_000;

const stringify = serializerOf(AvailabilityResponse);

/** Makes answers, and keeps those that are asked for again for as long as nothing has changed (docs/decisions/rest-api.md). */
export function createAvailabilityAnswers(): (found: Availability) => Answer {
  const answers = createLruCache<string, Answer>(KEPT_ANSWERS);
  return (found) => {
    const { space, date, taken, hoursBegun } = found;
    const key = `${space.spaceId} ${date}`;
    const known = answers.get(key);
    // Documents are immutable, and an engine that caches them returns the same ones.
    if (known?.space === space && known.taken === taken && known.hoursBegun === hoursBegun) return known;
    // Only the hours: who holds them and how firmly is not in the answer, and its tag must not tell.
    const hours = digestOf(taken.map(({ start, until }) => [start, until]));
    const version = `${digestOf(space)}.${hours}.${hoursBegun}`;
    const text = known?.version === version ? known.text : stringify(toAvailabilityResponse(found));
    const answer = { space, taken, hoursBegun, version, text };
    answers.set(key, answer);
    return answer;
  };
}
