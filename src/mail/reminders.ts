import type { BookingDocument } from '../../projections/bookings.ts';
import { type Account, accountKey, communityOf, partiesOf } from '../domain/account.ts';
import { expiryOf } from '../domain/booking-moments.ts';
import { daysLater, localDate, momentOn, toTimestamp, wallDay } from '../domain/calendar.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import type { Queries } from '../queries/queries.ts';
import type { ChosenKind } from './kinds.ts';
import type { NewMail } from './new-mail.ts';
import { aboutOf, type BookingMail } from './recipients.ts';

const HOUR_MS = 3_600_000;
/** A community is reminded of a request when a quarter of the time for its answer is left, and at most so long before. */
const AT_MOST_BEFORE_MS = 24 * HOUR_MS;
/** The hour of the day before an event, by the clock of its space. */
const TOMORROW_FROM = 8;
/** From then until the start of the event there are at most 40 hours, and 25 more if the clocks change and the event is long. */
const LOOK_AHEAD_MS = 72 * HOUR_MS;
/** How often to look for events of tomorrow. */
const LOOK_EVERY_MS = 10 * 60_000;
/** Bookings of which this process has reminded. Beyond these, the queue finds that a mail is stored already. */
const REMEMBERED = 50_000;

type Deps = {
  readonly bookings: Pick<Queries['reminders'], 'expiring' | 'ending'>;
  readonly readersOf: (mail: BookingMail) => Promise<readonly string[]>;
};

/**
 * The mails that are due because of the time. A mail is made again after a restart, so the queue must drop repeated ones.
 * @returns `now`: milliseconds since the epoch
 */
export function createReminders({ bookings, readersOf }: Deps): (now: number) => AsyncIterable<NewMail> {
  const reminded = createLruCache<string, true>(REMEMBERED);
  let lookedAt = Number.NEGATIVE_INFINITY;

  async function* remind(
    kind: ChosenKind,
    booking: BookingDocument,
    accounts: readonly Account[],
    dueAt: number,
    causeFor: (account: Account) => string = () => `booking-${booking.bookingId}`,
    further: NewMail['about'] = {},
  ): AsyncGenerator<NewMail> {
    // A booking that moves to another day is tomorrow once more.
    const id = `${kind}:${booking.bookingId}:${booking.date}`;
    if (reminded.has(id)) return;
    for (const account of accounts)
      for (const userId of await readersOf({ kind, account, about: aboutOf(booking) }))
        yield {
          kind,
          userId,
          cause: causeFor(account),
          account: accountKey(account),
          about: { ...aboutOf(booking), ...further },
          at: toTimestamp(dueAt),
        };
    // Only now: the consumer has stored them all.
    reminded.set(id, true);
  }

  return async function* reminders(now) {
    for await (const booking of bookings.expiring(now, now + AT_MOST_BEFORE_MS)) {
      const dueAt = answerDueAt(booking);
      if (dueAt <= now && now < expiryOf(booking)) yield* remind('AnswerDue', booking, [communityOf(booking)], dueAt);
    }
    if (now >= lookedAt && now - lookedAt < LOOK_EVERY_MS) return;
    for await (const booking of bookings.ending(now, now + LOOK_AHEAD_MS)) {
      const dueAt = isTomorrowFrom(booking);
      // The first event of the day makes the mail with all of them.
      const planOf = ({ kind, id }: Account) => `day-${booking.date}-${kind}-${id}`;
      if (dueAt <= now && isTomorrow(booking, now))
        yield* remind('EventTomorrow', booking, partiesOf(booking), dueAt, planOf, { date: booking.date });
    }
    lookedAt = now;
  };
}

/** When the community is reminded of a request. */
function answerDueAt(booking: BookingDocument): number {
  const expiry = expiryOf(booking);
  return expiry - Math.min(AT_MOST_BEFORE_MS, (expiry - Date.parse(booking.createdAt)) / 4);
}

/** When the parties are reminded of an event: at 08:00 of the day before, by the clock of the space. */
const isTomorrowFrom = ({ date, timeZone }: BookingDocument): number =>
  momentOn(wallDay(daysLater(date, -1), timeZone), TOMORROW_FROM);

/** Whether the event is on the day after `now`, by the clock of its space. */
export const isTomorrow = ({ date, timeZone }: Pick<BookingDocument, 'date' | 'timeZone'>, now: number): boolean =>
  localDate(now, timeZone) === daysLater(date, -1);
