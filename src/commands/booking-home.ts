import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { spaces } from '../../projections/spaces.ts';
import { SYSTEM } from '../domain/account.ts';
import type { BookingDay } from '../domain/booking-days.ts';
import { type Decision, isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import type { BookingEvent, SpaceDayEvent } from '../domain/events.ts';
import type { BookingId } from '../domain/ids.ts';
import { bringBooking, leaveHours } from '../domain/move-booking.ts';
import type { SpaceDay } from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { spaceDay } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { Accepted, CommandContext } from './command-handler.ts';

type Decide<E extends SpaceDayEvent = BookingEvent> = (day: SpaceDay) => Decision<E>;

/** How often a command looks for a booking that moves meanwhile. */
const MOST_LOOKS = 10;

/** The booking is on its way to another day, or there already. */
const ELSEWHERE = refuse('BookingNotAllowed', 'The booking is being moved.', { reason: 'Elsewhere' });

const isLeaving = (day: SpaceDay, id: BookingId): boolean => day.held.get(id)?.move?.isAgreed === true;

const isHere = (day: SpaceDay, id: BookingId): boolean =>
  day.cancelled.has(id) || (day.held.has(id) && !isLeaving(day, id));

/** The stream of the space and day that a booking is on. */
export const homeOf = ({ spaceId, date }: BookingDay): string => streamOf.spaceDay(spaceId, date);

export type BookingHome = ReturnType<typeof createBookingHome>;

/** Finds the day that a booking is on, and finishes the moves that are on the way (docs/decisions/moves.md). */
export function createBookingHome({ handler, readModels, clock }: CommandDeps) {
  /**
   * Carries out a move that was agreed to, from wherever a process has left it. Nothing happens if it is done, or has ended.
   * @returns why the booking stays, if the other day refused it
   */
  async function finish(stream: string, id: BookingId, context: CommandContext): Promise<string | undefined> {
    const booking = (await handler.load(stream, spaceDay)).held.get(id);
    if (booking?.move?.isAgreed !== true) return undefined;
    const { move } = booking;
    const space = await readModels.collection(spaces).get(String(move.to.spaceId));
    if (space === undefined) throw new Error(`Booking ${id} moves to space ${move.to.spaceId}, which does not exist`);
    const brought = await handler.execute(
      homeOf(move.to),
      spaceDay,
      context,
      (day) => bringBooking(day, { booking, move, space }, { now: clock() }),
      // Agreeing to the move was counted.
      { waits: false, isCounted: true },
    );
    faultPoint('a move was decided on its new day, not on the former');
    const arrival = isRefusal(brought) ? undefined : brought.state.arrivals.get(move.moveId);
    if (arrival === undefined) throw new Error(`The move ${move.moveId} of booking ${id} was not decided`);
    await handler.execute(stream, spaceDay, context, (day) =>
      leaveHours(day, { bookingId: id, moveId: move.moveId, arrival }),
    );
    return arrival === 'arrived' ? undefined : arrival.refusedFor;
  }

  /** Finishes moves that other commands have agreed to, in the name of the service. */
  const finishFor = (stream: string, id: BookingId, { correlationId }: CommandContext) =>
    finish(stream, id, { actor: SYSTEM, correlationId });

  /** Waits until the read model shows where a booking is that its former day does not hold any more. */
  async function catchUp(stream: string, id: BookingId, context: CommandContext): Promise<void> {
    await finishFor(stream, id, context);
    const { position } = await handler.loadAt(stream, spaceDay);
    await readModels.waitFor(position);
  }

  return {
    finish,

    /**
     * Runs a decision about one booking on the day that it is on. If it is being moved, the move is finished first.
     * @param prepare what the decision needs besides that day. Called again if the booking was moved meanwhile
     */
    async onBooking(
      id: number,
      context: CommandContext,
      prepare: (stored: BookingDocument) => Decide | Refusal | Promise<Decide | Refusal>,
    ): Promise<Accepted<SpaceDay, BookingEvent> | Refusal> {
      for (let look = 0; look < MOST_LOOKS; look += 1) {
        const stored = await readModels.collection(bookings).get(String(id));
        if (stored === undefined) return refuse('ResourceNotFound', `There is no booking ${id}.`);
        const decide = await prepare(stored);
        if (isRefusal(decide)) return decide;
        const { bookingId } = stored;
        const stream = homeOf(stored);
        const outcome = await handler.execute(stream, spaceDay, context, (day) =>
          isHere(day, bookingId) ? decide(day) : ELSEWHERE,
        );
        if (!isRefusal(outcome) || outcome.reason !== 'Elsewhere') return outcome;
        await catchUp(stream, bookingId, context);
      }
      throw new Unavailable(`Booking ${id} could not be found on its day`);
    },

    /** Decides on a day. If hours are refused that bookings are about to leave, these are moved first. */
    async withoutLeaving<E extends SpaceDayEvent>(stream: string, context: CommandContext, decide: Decide<E>) {
      let leaving: BookingId[] = [];
      const decided = () =>
        handler.execute(stream, spaceDay, context, (day) => {
          leaving = [...day.held.keys()].filter((id) => isLeaving(day, id));
          return decide(day);
        });
      const outcome = await decided();
      if (!isRefusal(outcome) || outcome.refused !== 'SlotUnavailable' || leaving.length === 0) return outcome;
      for (const id of leaving) await finishFor(stream, id, context);
      return decided();
    },
  };
}
