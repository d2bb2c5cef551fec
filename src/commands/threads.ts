import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { type Account, partiesOf } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { subjectOf } from '../domain/personal-text.ts';
import { streamOf } from '../domain/streams.ts';
import { noteBooking, sendMessage } from '../domain/thread.ts';
import { thread } from './aggregates.ts';
import type { CommandDeps } from './command-deps.ts';
import type { CommandContext } from './command-handler.ts';

type OfAccount<A extends Account = Account> = { readonly account: A; readonly bookingId: number };

/** What is written about bookings: messages between their parties, and notes of communities for themselves. */
export function createThreadCommands({ handler, readModels, personalData }: CommandDeps) {
  /** The booking, if the account is a party of it and both parties can still be written to. */
  async function openBooking({ account, bookingId }: OfAccount): Promise<BookingDocument | Refusal> {
    const booking = await readModels.collection(bookings).get(String(bookingId));
    const own = booking && (account.kind === 'Community' ? booking.communityId : booking.brandId);
    if (booking === undefined || own !== account.id)
      return refuse('ResourceNotFound', `There is no booking ${bookingId}.`);
    return (await refusalOfErased(personalData, booking)) ?? booking;
  }

  return {
    /** Sends a message to the other party of a booking. */
    async send({ text, ...of }: OfAccount & { readonly text: string }, context: CommandContext) {
      const booking = await openBooking(of);
      if ('refused' in booking) return booking;
      const written = { from: of.account.kind, text };
      const stream = streamOf.venue_thread(booking.bookingId);
      return handler.execute(stream, thread, context, (state) => sendMessage(state, booking, written));
    },

    /** Adds a note about a booking that only its community reads. */
    async note(
      { note, ...of }: OfAccount<Extract<Account, { kind: 'Community' }>> & { readonly note: string },
      context: CommandContext,
    ) {
      const booking = await openBooking(of);
      if ('refused' in booking) return booking;
      const stream = streamOf.venue_thread(booking.bookingId);
      return handler.execute(stream, thread, context, (state) => noteBooking(state, booking, note));
    },
  };
}

/** Refuses texts between two parties of which one was erased: nothing can be sealed for it any more. */
export async function refusalOfErased(
  { isForgotten }: Pick<CommandDeps['personalData'], 'isForgotten'>,
  parties: Parameters<typeof partiesOf>[0],
): Promise<Refusal | undefined> {
  const erased = await Promise.all(partiesOf(parties).map((party) => isForgotten(subjectOf(party))));
  return erased.includes(true)
    ? refuse('BookingNotAllowed', 'The texts of one of the parties were erased, so nothing more can be written.')
    : undefined;
}
