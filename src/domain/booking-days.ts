import { streamOf } from './streams.ts';

/** A space on a date. */
export type BookingDay = { readonly spaceId: number; readonly date: string };

/** Where a booking is, and the spaces and dates that it has left. */
export type BookingDays = BookingDay & { readonly formerDays?: readonly BookingDay[] };

export const isOnDay = (a: BookingDay, b: BookingDay): boolean => a.spaceId === b.spaceId && a.date === b.date;

/** The streams that hold events of a booking (docs/decisions/moves.md). */
export const streamsOf = ({ spaceId, date, formerDays = [] }: BookingDays): string[] => [
  ...new Set([...formerDays, { spaceId, date }].map((day) => streamOf.spaceDay(day.spaceId, day.date))),
];
