import { type Command, Option } from '@commander-js/extra-typings';
import type { ReadableBooking } from '../../projections/bookings.ts';
import { toOperatorBooking } from '../contract/booking.ts';
import { brandOf, communityOf } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { BOOKING_STATUSES } from '../domain/space-day.ts';
import { printOwned, requiredAccount } from './accounts.ts';
import { date, wholeNumber } from './arguments.ts';
import { bookingHistoryCommand } from './history.ts';
import { type Answer, type OperatorCore, operated } from './operation.ts';
import { answer, checkRange, onId, subcommand, withAccount } from './subcommand.ts';

const BOOKING_COLUMNS = ['id', 'date', 'hours', 'spaceName', 'brandName', 'status', 'totalPrice'];

export function bookingCommands(venue: Command): void {
  const booking = venue.command('booking').description('manage bookings and booking requests');
  const onBooking = onId(booking, 'booking', '7', wholeNumber);
  listCommand(booking);
  onBooking('show', 'show a booking', bookingAnswer);
  bookingHistoryCommand(booking);
  onBooking('approve', 'approve a request on behalf of the community', (core, id) =>
    decide(core, id, ({ communityId }) => core.commands.bookings.approve({ bookingId: id, communityId }, core.context)),
  );
  cancelCommand(booking);
}

function listCommand(booking: Command): void {
  const example = 'booking list --community 1 --status Pending --from 2026-03-01';
  withAccount(
    subcommand(booking, 'list', 'list the bookings a community or brand sees', example),
    'whose bookings to list',
  )
    .addOption(new Option('--status <status>', 'only bookings with this status').choices(BOOKING_STATUSES))
    .option('--from <date>', 'only bookings on or after this date', date)
    .option('--to <date>', 'only bookings on or before this date', date)
    .action(({ status, from, to, ...named }, command) => {
      const account = requiredAccount(named);
      checkRange(from, to);
      const filter = defined({ status, startDate: from, endDate: to });
      const list = ({ queries }: OperatorCore) => Array.fromAsync(queries.bookings.readableList(account, filter));
      return printOwned(command, account, list, {
        json: toOperatorBooking,
        columns: BOOKING_COLUMNS,
      });
    });
}

function cancelCommand(booking: Command): void {
  subcommand(
    booking,
    'cancel',
    'decline a request or cancel a booking on behalf of either party',
    'booking cancel 7 --by community --reason "Water damage"',
  )
    .argument('<id>', 'id of the booking', wholeNumber)
    .addOption(
      new Option('--by <party>', 'party that cancels').choices(['community', 'brand'] as const).makeOptionMandatory(),
    )
    .option('--reason <text>', 'reason shown to the other party')
    .action(
      operated((core, id, { by: party, reason }) =>
        decide(core, id, (booking) => {
          const by = party === 'brand' ? brandOf(booking) : communityOf(booking);
          return core.commands.bookings.cancel({ bookingId: id, by, ...defined({ reason }) }, core.context);
        }),
      ),
    );
}

/** Decides about a booking, and shows the result. */
async function decide(
  core: OperatorCore,
  id: number,
  decision: (booking: ReadableBooking) => Promise<object | Refusal>,
): Promise<Answer | Refusal> {
  const booking = await get(core, id);
  if (isRefusal(booking)) return booking;
  return answer(await decision(booking), () => bookingAnswer(core, id));
}

async function get({ queries }: OperatorCore, id: number): Promise<ReadableBooking | Refusal> {
  return (await queries.operator.booking(id)) ?? refuse('ResourceNotFound', `There is no booking ${id}.`);
}

async function bookingAnswer(core: OperatorCore, id: number): Promise<Answer | Refusal> {
  return answer(await get(core, id), (booking) => ({ json: toOperatorBooking(booking) }));
}
