/**
 * What is promised of one space on one day, for the checker: plain lists and numbers from the guides, without anything of the service. The
 * hours of the day are to come, and the scheduler has nothing to do.
 */
import type { Specification, Timed } from './check.ts';

export type Terms = {
  readonly windowStart: number;
  readonly windowEnd: number;
  readonly durationHours: number;
  readonly gapHours: number;
};

type Status = 'Pending' | 'Approved' | 'Cancelled';
/** A booking. It is named by its idempotency key, which is known before its id. */
type Booking = { readonly name: string; readonly hour: number; readonly status: Status };
/** In the order in which they were made. */
type Day = readonly Booking[];

/** The answer to a command. Undefined: none came. */
type Decided = 'accepted' | 'refused' | undefined;

/** A command is decided on the log. */
type Command =
  | { readonly do: 'request'; readonly booking: string; readonly hour: number; readonly answer: Decided }
  /** `decline` ends a request, `cancel` an approved booking. */
  | { readonly do: 'approve' | 'decline' | 'cancel'; readonly booking: string; readonly answer: Decided };

/** A read shows a document of a read model. A list shows one for each booking. */
type Read =
  | { readonly do: 'availability'; readonly answer: readonly number[] }
  | { readonly do: 'read'; readonly booking: string; readonly answer: Status | 'absent' };

export type Operation = Timed & {
  /** `7 2027-01-31` */
  readonly spaceDay: string;
  /** Who called, and which process was asked, for people. */
  readonly by: string;
  /** Whether the read models had caught up with the log before it. */
  readonly isSettled?: true;
} & (Command | Read);

/** What a call showed, without when, where and to whom. */
export type Seen = Command | Read;

const TAKEN: readonly Status[] = ['Pending', 'Approved'];
/** What a decision needs, and what it makes of it. */
const DECISIONS = {
  approve: { from: 'Pending', to: 'Approved' },
  decline: { from: 'Pending', to: 'Cancelled' },
  cancel: { from: 'Approved', to: 'Cancelled' },
} as const;

/**
 * A command waits at most 2 s for the read models, so one that took this long may have been answered before they showed it. The rest is for
 * the network.
 */
const WAITED_TOO_LONG_MS = 1_900;

/** The specification of the days of some spaces. @param termsOf by the name of a space-day */
export const spaceDays = (termsOf: (spaceDay: string) => Terms): Specification<Day, Operation> => ({
  initial: [],
  partitionOf: ({ spaceDay }) => spaceDay,
  keyOf: (day) => day.map(({ name, hour, status }) => `${name} ${hour} ${status}`).join(),
  precedes,
  step(day, operation) {
    const terms = termsOf(operation.spaceDay);
    switch (operation.do) {
      case 'request':
        return afterRequest(day, operation, terms);
      case 'availability':
        return openHours(day, terms).join() === operation.answer.join() ? day : undefined;
      case 'read':
        return (find(day, operation.booking)?.status ?? 'absent') === operation.answer ? day : undefined;
      default:
        return afterDecision(day, operation);
    }
  },
});

/**
 * What may stand in which order.
 *
 * - Commands are decided on the log one after another, so they stand in the order in which they were answered and called
 *   (docs/decisions/event-log.md#load-decide-append).
 * - A read through any process shows every command that was accepted before it (docs/decisions/read-models.md#read-your-writes). A refusal
 *   does not wait: a read after it may not yet show what it was refused for.
 * - A command after a read is decided on what the read showed: read models show nothing that is not in the log.
 * - A read shows no earlier state of a document than one before it (docs/decisions/read-models.md#documents-only-move-forward). Nothing is
 *   promised of two documents, such as a booking and the hours of its day, which are stored one after another.
 */
function precedes(before: Operation, after: Operation): boolean {
  if (before.answeredAt >= after.calledAt) return false;
  if (!isRead(after)) return true;
  if (isRead(before)) return bookingOf(before) === bookingOf(after);
  const isShown = after.isSettled === true || before.answeredAt - before.calledAt < WAITED_TOO_LONG_MS;
  return before.answer === 'accepted' && isShown;
}

const isRead = (operation: Operation): operation is Operation & Read =>
  operation.do === 'availability' || operation.do === 'read';

/** The booking that an operation is about; none if it is about the hours of the day. */
export const bookingOf = (operation: Command | Read): string | undefined =>
  operation.do === 'availability' ? undefined : operation.booking;

/** A request that repeats a booking's key gets that booking, in any state. */
function afterRequest(day: Day, { booking: name, hour, answer }: Command & { do: 'request' }, terms: Terms) {
  if (find(day, name) !== undefined) return answer === 'refused' ? undefined : day;
  const isOpen = openHours(day, terms).includes(hour);
  if (answer !== undefined && (answer === 'accepted') !== isOpen) return undefined;
  return isOpen ? [...day, { name, hour, status: 'Pending' as const }] : day;
}

function afterDecision(day: Day, { do: decision, booking: name, answer }: Exclude<Command, { do: 'request' }>) {
  const { from, to } = DECISIONS[decision];
  const isPossible = find(day, name)?.status === from;
  if (answer !== undefined && (answer === 'accepted') !== isPossible) return undefined;
  return isPossible ? day.map((one) => (one.name === name ? { ...one, status: to } : one)) : day;
}

/** The hours at which an event can start: it overlaps none that is requested or approved, and keeps the gap. */
function openHours(day: Day, { windowStart, windowEnd, durationHours, gapHours }: Terms): readonly number[] {
  const timeOf = (hour: number) => ({ from: hour, until: Math.min(hour + durationHours, windowEnd) });
  const taken = day.filter(({ status }) => TAKEN.includes(status)).map(({ hour }) => timeOf(hour));
  const hours = Array.from({ length: windowEnd - windowStart }, (_, index) => windowStart + index);
  return hours.filter((hour) => {
    const { from, until } = timeOf(hour);
    return taken.every((other) => until + gapHours <= other.from || other.until + gapHours <= from);
  });
}

const find = (day: Day, name: string): Booking | undefined => day.find((one) => one.name === name);
