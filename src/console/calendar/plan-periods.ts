import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableClosure } from '../../../projections/closures.ts';
import { momentOn, wallDay, weekdayOf } from '../../domain/calendar.ts';
import { covers } from '../../domain/closure.ts';
import { type DayTerms, termsOn } from '../../domain/day-terms.ts';
import { maxOf, minOf } from '../../domain/extremes.ts';
import type { PlainDate } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';

/** What holds hours of a space on a day, or why it is closed then. */
type Holder =
  | { readonly kind: 'Booking'; readonly booking: BookingDocument }
  | { readonly kind: 'Closure'; readonly closure: ReadableClosure }
  | { readonly kind: 'Shut'; readonly why: string; readonly isWholeDay: boolean };

/** A part of the day of a space: held by one thing, or free. */
export type Period = { readonly from: number; readonly until: number; readonly holder: Holder | undefined };

/** The hours that a plan shows. Its columns are whole or half hours. */
export type Scale = { readonly first: number; readonly end: number; readonly step: 1 | 0.5 };

/** A space in the plan of a day. */
export type PlanRow = {
  readonly space: Space;
  readonly terms: DayTerms;
  readonly bookings: readonly BookingDocument[];
  readonly closures: readonly ReadableClosure[];
};

/** The rows of a plan, in the order of the spaces. */
export function rowsOf(
  spaces: readonly Space[],
  date: PlainDate,
  bookings: readonly BookingDocument[],
  closures: readonly ReadableClosure[],
): readonly PlanRow[] {
  const bySpace = Map.groupBy(bookings, ({ spaceId }) => spaceId);
  return spaces.map((space) => {
    const { spaceId } = space;
    const isLeftOut = ({ leftOut }: ReadableClosure) =>
      leftOut.some((day) => day.spaceId === spaceId && day.date === date);
    return {
      space,
      terms: termsOn(space, date),
      bookings: bySpace.get(spaceId) ?? [],
      closures: closures.filter((closure) => covers(closure, { spaceId, date }) && !isLeftOut(closure)),
    };
  });
}

/** Hours that hold all windows, bookings, closed times and own events. A whole day that is closed adds no hours. */
export function scaleOf(rows: readonly PlanRow[]): Scale {
  const closed = rows.flatMap(({ closures }) => closures).filter(({ start, until }) => start > 0 || until < 24);
  const bookings = rows.flatMap((row) => row.bookings);
  const isHalf =
    rows.some(({ terms }) => terms.durationHours % 1 > 0 || (terms.gapHours ?? 0) % 1 > 0) ||
    bookings.some(({ freeFrom }) => freeFrom % 1 > 0);
  return {
    first: minOf([
      ...rows.map(({ terms }) => terms.windowStart),
      ...bookings.map(({ startHour }) => startHour),
      ...closed.map(({ start }) => start),
    ]),
    end: maxOf([
      ...rows.map(({ terms }) => terms.windowEnd),
      ...bookings.map(({ freeFrom }) => Math.ceil(freeFrom)),
      ...closed.map(({ until }) => until),
    ]),
    step: isHalf ? 0.5 : 1,
  };
}

type HeldTime = { readonly start: number; readonly until: number; readonly holder: Holder };

/** Divides the hours of a plan among what holds them. Bookings come before own events, and those before closed times. */
export function periodsOf({ terms, bookings, closures }: PlanRow, date: PlainDate, scale: Scale): readonly Period[] {
  const times: readonly HeldTime[] = [
    ...bookings.map(
      (booking): HeldTime => ({
        start: booking.startHour,
        until: booking.freeFrom,
        holder: { kind: 'Booking', booking },
      }),
    ),
    ...closures
      .toSorted((a, b) => Number(a.kind === 'Closure') - Number(b.kind === 'Closure'))
      .map((closure): HeldTime => ({ ...closure, holder: { kind: 'Closure', closure } })),
    ...shutTimes(terms, date),
    ...gapsBeside(bookings, terms),
  ];
  const holderAt = (hour: number) => times.find(({ start, until }) => start <= hour && hour < until)?.holder;
  const periods: Period[] = [];
  for (let from = scale.first; from < scale.end; ) {
    const holder = holderAt(from);
    let until = from + scale.step;
    while (until < scale.end && holderAt(until) === holder) until += scale.step;
    // Own events take whole hours, so a free half hour before or after a booking is a period of its own.
    if (holder === undefined) until = from % 1 > 0 ? from + 0.5 : Math.max(Math.floor(until), from + scale.step);
    periods.push({ from, until, holder });
    from = until;
  }
  return periods;
}

const GAP: Holder = { kind: 'Shut', why: 'Time between bookings', isWholeDay: false };

/** The time that a space keeps free around bookings. Beside own events, only bookings keep it: another own event may follow at once. */
const gapsBeside = (bookings: readonly BookingDocument[], { gapHours = 0 }: DayTerms): readonly HeldTime[] =>
  gapHours === 0
    ? []
    : bookings.map(({ startHour, freeFrom }) => ({
        start: startHour - gapHours,
        until: freeFrom + gapHours,
        holder: GAP,
      }));

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/** When a space is closed by its hours, or the clocks skip them, and why. */
function shutTimes(terms: DayTerms, date: PlainDate): readonly HeldTime[] {
  const shut = (start: number, until: number, why: string): HeldTime => ({
    start,
    until,
    holder: { kind: 'Shut', why, isWholeDay: start === 0 && until === 24 },
  });
  if (!terms.active) return [shut(0, 24, 'Closed: takes no bookings')];
  if (terms.isClosedDay) return [shut(0, 24, `Closed on ${weekdayOf(date)}s`)];
  const day = wallDay(date, terms.timeZone);
  const skipped = HOURS.filter((hour) => momentOn(day, hour) === momentOn(day, hour + 1));
  return [
    ...skipped.map((hour) => shut(hour, hour + 1, 'Skipped by the clocks')),
    shut(0, terms.windowStart, 'Outside hours'),
    shut(terms.windowEnd, 24, 'Outside hours'),
  ];
}
