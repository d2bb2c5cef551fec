import type { ReadableBooking } from '../../../projections/bookings.ts';
import type { NamedStep } from '../../domain/booking-history.ts';
import { momentIn, zoneName } from '../../html/formats.ts';
import type { Queries } from '../../queries/queries.ts';
import { actorOrYou } from '../parts/actor-view.ts';
import type { Visit } from '../parts/visit.ts';

/** What a step did. Pages show it as it is. */
export type StepVerb =
  | 'requested'
  | 'approved'
  | 'declined'
  | 'withdrawn'
  | 'cancelled'
  | 'completed'
  | 'expired'
  | MoveVerb;

type MoveVerb = 'asked to be moved' | 'agreed to move' | 'kept where it is' | 'moved';

/** The last step that changed the state of a booking, and its actor. */
export type LastStep = {
  readonly verb: StepVerb;
  /** `by anna@example.org`, in plain text. Empty for `expired` and `completed`. */
  readonly by: string;
  /** In the space's time. */
  readonly at: string;
};

/**
 * The last step of a booking that changed its state, from the log: not one of a move, which answers nothing. Undefined if the account may not
 * see the booking.
 */
export async function lastStepOf(
  { bookingHistory }: Pick<Queries, 'bookingHistory'>,
  visit: Pick<Visit, 'account' | 'user'>,
  { bookingId, timeZone }: Pick<ReadableBooking, 'bookingId' | 'timeZone'>,
): Promise<LastStep | undefined> {
  const history = await bookingHistory.ofBooking(visit.account, bookingId);
  const step = history?.steps.findLast(({ from, to }) => from !== to);
  if (step === undefined) return undefined;
  const verb = verbOf(step);
  return {
    verb,
    by: verb === 'expired' || verb === 'completed' ? '' : `by ${actorOrYou(visit, step.by)}`,
    at: `${momentIn(timeZone, step.event.metadata.at)} ${zoneName(timeZone)}`,
  };
}

export function verbOf({ event, from }: NamedStep): StepVerb {
  if (event.type !== 'BookingCancelled') return VERBS[event.type];
  return from === 'Pending' ? VERBS_BY[event.data.cancelledBy] : 'cancelled';
}

const VERBS = {
  BookingRequested: 'requested',
  BookingApproved: 'approved',
  BookingCompleted: 'completed',
  BookingMoveAsked: 'asked to be moved',
  BookingMoveAgreed: 'agreed to move',
  BookingMoveEnded: 'kept where it is',
  BookingMoved: 'moved',
} as const;
const VERBS_BY = { Community: 'declined', Brand: 'withdrawn', System: 'expired' } as const;

/** `It was approved by anna@example.org on 20 Nov 2026, 09:30 Berlin time.` */
export function sentenceOf({ verb, by, at }: LastStep, adverb?: 'already'): string {
  if (verb === 'expired') return `It expired unanswered on ${at}.`;
  return `It was ${[adverb, verb, by].filter(Boolean).join(' ')} on ${at}.`;
}
