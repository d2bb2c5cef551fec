import { termsOn } from '../domain/day-terms.ts';
import type { PlainDate } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import type { TimeSlot } from '../domain/time-slots.ts';
import type { AvailabilityResponse } from './schemas/availability.ts';

export const toAvailabilityResponse = (availability: {
  readonly space: Space;
  readonly date: PlainDate;
  timeSlots(): readonly TimeSlot[];
}): AvailabilityResponse => {
  const { date } = availability;
  const { spaceId, name: spaceName, windowStart, windowEnd, durationHours } = termsOn(availability.space, date);
  const timeSlots = [...availability.timeSlots()];
  return { spaceId, spaceName, date, windowStart, windowEnd, durationHours, timeSlots };
};
