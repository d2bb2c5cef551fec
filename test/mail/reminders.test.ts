import { describe, expect, it } from 'vitest';
import { pendingBooking } from '../../projections/bookings.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { bookingId } from '../../src/domain/ids.ts';
import { createReminders } from '../../src/mail/reminders.ts';
import { at, context, day, hall, requested } from '../domain/bookings.fixture.ts';

const HOUR_MS = 3_600_000;
type Booking = ReturnType<typeof pendingBooking>;

/** A request at noon in Berlin on 1 December for the 10th, to be answered within so many hours. */
const pending = (answerHours: number, fields: Parameters<typeof requested>[0] = {}): Booking =>
  pendingBooking(requested({ space: { ...hall, answerHours }, ...fields }).data, toTimestamp(context.now));

const approvedOn = (date: string, timeZone: string): Booking => ({
  ...pending(72, { date: day(date), space: { ...hall, timeZone } }),
  status: 'Approved',
});

async function* listOf(bookings: readonly Booking[]) {
  yield* bookings;
}

const remindersOf = ({ expiring = [], ending = [] }: { expiring?: readonly Booking[]; ending?: readonly Booking[] }) =>
  createReminders({
    bookings: { expiring: () => listOf(expiring), ending: () => listOf(ending) },
    readersOf: async ({ account }) => [`one of ${account.kind}`],
  });

const namesAt = async (reminders: ReturnType<typeof createReminders>, now: number) =>
  (await Array.fromAsync(reminders(now))).map(({ kind, userId, cause }) => `${kind} ${cause} ${userId}`);

describe('a request near its answer time', () => {
  const DUE = 'AnswerDue booking-1 one of Community';

  it.each([
    // A quarter of the time is left, and at most a day.
    [1, 0.75],
    [24, 18],
    [72, 54],
    [200, 176],
  ])('of %i hours is due after %f', async (answerHours, dueAfter) => {
    const due = context.now + dueAfter * HOUR_MS;
    expect(await namesAt(remindersOf({ expiring: [pending(answerHours)] }), due - 1)).toEqual([]);
    expect(await namesAt(remindersOf({ expiring: [pending(answerHours)] }), due)).toEqual([DUE]);
  });

  it('is due once, also if it is read again', async () => {
    const reminders = remindersOf({ expiring: [pending(72)] });
    const due = context.now + 60 * HOUR_MS;
    expect(await namesAt(reminders, due)).toEqual([DUE]);
    expect(await namesAt(reminders, due + 60_000)).toEqual([]);
  });

  it('is made again if it could not be stored', async () => {
    const reminders = remindersOf({ expiring: [pending(72)] });
    const due = context.now + 60 * HOUR_MS;
    for await (const _ of reminders(due)) break;
    expect(await namesAt(reminders, due)).toEqual([DUE]);
  });

  it('is not due once it has expired', async () => {
    expect(await namesAt(remindersOf({ expiring: [pending(72)] }), context.now + 72 * HOUR_MS)).toEqual([]);
  });

  it('counts from the start of the event if the request expires then', async () => {
    // Asked at noon of the 1st for 10:00 of the 2nd: 22 hours, of which 5.5 are left at 04:30.
    const expiring = [pending(72, { date: day('2026-12-02') })];
    expect(await namesAt(remindersOf({ expiring }), at('2026-12-02T03:29:59Z'))).toEqual([]);
    expect(await namesAt(remindersOf({ expiring }), at('2026-12-02T03:30:00Z'))).toEqual([DUE]);
  });
});

describe('an event that is tomorrow', () => {
  const plansOf = (date: string) =>
    ['Community', 'Brand'].map((kind) =>
      expect.stringMatching(`^EventTomorrow day-${date}-${kind}-\\d+ one of ${kind}$`),
    );

  it.each([
    ['Europe/Berlin', '2026-12-10', '2026-12-09T07:00:00Z', '2026-12-09T22:59:59Z'],
    ['Pacific/Auckland', '2026-12-10', '2026-12-08T19:00:00Z', '2026-12-09T10:59:59Z'],
    ['America/Los_Angeles', '2026-12-10', '2026-12-09T16:00:00Z', '2026-12-10T07:59:59Z'],
    // The clocks change in the night before the event, or on the day before at 02:00.
    ['Europe/Berlin', '2027-03-28', '2027-03-27T07:00:00Z', '2027-03-27T22:59:59Z'],
    ['Europe/Berlin', '2027-03-29', '2027-03-28T06:00:00Z', '2027-03-28T21:59:59Z'],
  ])('in %s on %s: from %s to %s', async (zone, date, first, last) => {
    const ending = [approvedOn(date, zone)];
    expect(await namesAt(remindersOf({ ending }), at(first) - 1)).toEqual([]);
    expect(await namesAt(remindersOf({ ending }), at(first))).toEqual(plansOf(date));
    expect(await namesAt(remindersOf({ ending }), at(last))).toEqual(plansOf(date));
    expect(await namesAt(remindersOf({ ending }), at(last) + 1_000)).toEqual([]);
  });

  it('is looked for every ten minutes', async () => {
    const ending: Booking[] = [];
    const reminders = remindersOf({ ending });
    const now = at('2026-12-09T12:00:00Z');
    expect(await namesAt(reminders, now)).toEqual([]);
    ending.push(approvedOn('2026-12-10', 'Europe/Berlin'));
    expect(await namesAt(reminders, now + 9 * 60_000)).toEqual([]);
    expect(await namesAt(reminders, now + 10 * 60_000)).toEqual(plansOf('2026-12-10'));
  });

  it('is due again once it has moved to another day', async () => {
    const ending = [approvedOn('2026-12-10', 'Europe/Berlin')];
    const reminders = remindersOf({ ending });
    expect(await namesAt(reminders, at('2026-12-09T12:00:00Z'))).toEqual(plansOf('2026-12-10'));
    ending[0] = approvedOn('2026-12-20', 'Europe/Berlin');
    expect(await namesAt(reminders, at('2026-12-19T12:00:00Z'))).toEqual(plansOf('2026-12-20'));
  });

  it('is due for a day from then', async () => {
    const [mail] = await Array.fromAsync(
      remindersOf({ ending: [approvedOn('2026-12-10', 'Europe/Berlin')] })(at('2026-12-09T20:00:00Z')),
    );
    expect(mail?.at).toBe('2026-12-09T07:00:00.000Z');
    expect(mail?.about).toEqual({ bookingId: bookingId(1), spaceId: hall.spaceId, date: '2026-12-10' });
  });
});
