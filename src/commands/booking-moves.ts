import { randomUUIDv7 } from 'node:crypto';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { brands } from '../../projections/brands.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Account } from '../domain/account.ts';
import { isOnDay } from '../domain/booking-days.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { BookingEvent } from '../domain/events.ts';
import { type BookingId, moveId } from '../domain/ids.ts';
import {
  answerMove,
  type MoveBooking,
  type MoveTarget,
  type MoveTo,
  moveBooking,
  NOT_WAITING,
} from '../domain/move-booking.ts';
import type { SpaceDay } from '../domain/space-day.ts';
import { streamOf } from '../domain/streams.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { spaceDay } from './aggregates.ts';
import { type BookingHome, homeOf } from './booking-home.ts';
import type { CommandDeps } from './command-deps.ts';
import type { Accepted, CommandContext } from './command-handler.ts';
import { standingIn, termsIn } from './standing.ts';

type Moving = { readonly bookingId: number; readonly by: Account; readonly reason?: string };

export type MoveCommands = ReturnType<typeof createMoveCommands>;

/** Moving a booking to another day, hour or space of its community (docs/decisions/moves.md). */
export function createMoveCommands({ handler, readModels, clock }: CommandDeps, home: BookingHome) {
  /** The target as it is now. */
  async function targetOf(stored: BookingDocument, to: Required<MoveTo>): Promise<MoveTarget | Refusal> {
    const space = await readModels.collection(spaces).get(String(to.spaceId));
    if (space === undefined) return refuse('ResourceNotFound', `There is no space ${to.spaceId}.`);
    const { date, startHour } = to;
    if (isOnDay(stored, to)) return { space, date, startHour };
    return { space, date, startHour, elsewhere: await handler.load(streamOf.spaceDay(to.spaceId, date), spaceDay) };
  }

  /** Carries out a move that was agreed to. The other day may have been taken since its hours were looked at. */
  async function carriedOut(
    outcome: Accepted<SpaceDay, BookingEvent> | Refusal,
    context: CommandContext,
  ): Promise<Accepted<SpaceDay, BookingEvent> | Refusal> {
    if (isRefusal(outcome)) return outcome;
    const agreed = outcome.events.find((event) => event.type === 'BookingMoveAgreed');
    if (agreed === undefined) return outcome;
    faultPoint('a move was agreed to, not carried out');
    const why = await home.finish(homeOf(agreed.data), agreed.data.bookingId, context);
    return why === undefined ? outcome : refuse('SlotUnavailable', `The booking stays where it is. ${why}`);
  }

  return {
    /** Asks for a move, or carries it out if the other party wants the same or need not be asked. */
    async move(
      { to, ...command }: Moving & Pick<MoveBooking, 'price' | 'seenFee'> & { readonly to: MoveTo },
      context: CommandContext,
    ) {
      const id = moveId(randomUUIDv7());
      const outcome = await home.onBooking(command.bookingId, context, async (stored) => {
        const { spaceId = stored.spaceId, date = stored.date, startHour = stored.startHour } = to;
        const target = await targetOf(stored, { spaceId, date, startHour });
        if (isRefusal(target)) return target;
        const [terms, brand] = await Promise.all([
          termsIn(readModels, stored),
          readModels.collection(brands).get(String(stored.brandId)),
        ]);
        const { bookingId, communityId } = stored;
        const isKept = brand?.keptBy === communityId;
        const wanted = { ...command, bookingId, moveId: id, to: target, ...terms, isKept };
        return (day) => moveBooking(day, wanted, { now: clock() });
      });
      return carriedOut(outcome, context);
    },

    /** Accepts or declines a move that the other party asked for, or withdraws an own one. */
    async answer(
      { accepts, ...command }: Moving & { readonly moveId: string; readonly accepts: boolean },
      context: CommandContext,
    ) {
      const outcome = await home.onBooking(command.bookingId, context, async (stored) => {
        if (stored.move?.moveId !== command.moveId) return NOT_WAITING;
        const target = accepts ? await targetOf(stored, stored.move.to) : undefined;
        if (isRefusal(target)) return target;
        const standing = await standingIn(readModels, stored);
        const { bookingId } = stored;
        const answer = {
          ...command,
          ...defined({ accepts: target }),
          bookingId,
          moveId: moveId(command.moveId),
          standing,
        };
        return (day) => answerMove(day, answer, { now: clock() });
      });
      return carriedOut(outcome, context);
    },

    /** Declines the move that waits, or withdraws it if the party has asked for it itself. */
    decline: (command: Moving, context: CommandContext) =>
      home.onBooking(command.bookingId, context, ({ bookingId }) => {
        return (day) => answerMove(day, { ...command, bookingId }, { now: clock() });
      }),

    /** Carries out what is left of the moves of a booking. For the scheduler. */
    async finish(id: BookingId, context: CommandContext): Promise<void> {
      const stored = await readModels.collection(bookings).get(String(id));
      for (const day of stored?.agreedMoves ?? []) await home.finish(homeOf(day), id, context);
    },
  };
}
