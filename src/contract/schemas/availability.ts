import { type Static, Type } from 'typebox';
import type { SpaceId } from '../../domain/ids.ts';
import { UsageHours } from './booking.ts';
import { Hour, Id, PlainDate } from './scalars.ts';

const TimeSlot = Type.Object(
  {
    hour: Hour('Starting hour, 24-hour clock.'),
    label: Type.String({ pattern: '^(1[0-2]|[1-9]):00 [AP]M$', description: '12-hour form with AM/PM.' }),
    isAvailable: Type.Boolean({ description: 'True when the slot is open; false when it is taken, past or closed.' }),
    usageHours: UsageHours,
  },
  { title: 'TimeSlot', description: 'A start hour, and whether it can be booked.' },
);

/** The availability of a space on a date (docs/guides/rest-api.md#resources). */
export const AvailabilityResponse = Type.Object(
  {
    spaceId: Id<SpaceId>('Space identifier.'),
    spaceName: Type.String({ description: 'Display name.' }),
    date: PlainDate('The queried date.'),
    windowStart: Hour('Earliest hour of the booking window.'),
    windowEnd: Hour('Latest hour of the booking window.'),
    durationHours: Type.Number({ description: 'Fixed event duration set by the community.' }),
    timeSlots: Type.Array(TimeSlot, { description: 'One entry per start hour.' }),
  },
  { title: 'AvailabilityResponse', description: 'Which start hours of a space are open on a date.' },
);
export type AvailabilityResponse = Static<typeof AvailabilityResponse>;

export const SpaceParams = Type.Object({ spaceId: Id<SpaceId>('Space identifier.') });
export const AvailabilityQuery = Type.Object({ date: PlainDate('Today or a future date.') });
