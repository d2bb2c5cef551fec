import { type Command, Option } from '@commander-js/extra-typings';
import type { BookingDocument, ReadableBooking } from '../../projections/bookings.ts';
import { toOperatorBooking } from '../contract/booking.ts';
import type { Account } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { BOOKING_STATUSES } from '../domain/space-day.ts';
import { ownedBy, requiredAccount } from './accounts.ts';
import { date, wholeNumber } from './arguments.ts';
import { bookingFacts, price } from './booking-text.ts';
import { bookingHistoryCommand } from './history.ts';
import { type Answer, type OperatorCore, operate } from './operation.ts';
import { table } from './print.ts';

export function bookingCommands(venue: Command): void {
  const booking = venue.command('booking').description('manage bookings and booking requests');
  listCommand(booking);
  showCommand(booking);

  bookingHistoryCommand(booking);
  approveCommand(booking);
  cancelCommand(booking);
}

function listCommand(booking: Command): void {
  booking
    .command('list')
    .description('list the bookings a community or brand sees')
    .option('--community <id>', 'bookings of this community', wholeNumber)
    .option('--brand <id>', 'bookings made by this brand', wholeNumber)
    .addOption(new Option('--status <status>', 'only bookings with this status').choices(BOOKING_STATUSES))
    .option('--from <date>', 'only bookings on or after this date', date)
    .option('--to <date>', 'only bookings on or before this date', date)
    .addHelpText('after', '\nExample:\n  venue booking list --community 1 --status Pending --from 2026-03-01')
    .action(({ status, from, to, ...named }, command) => {
      const account = requiredAccount(named);
      return operate(command, async (core) => {
        const filter = defined({ status, startDate: from, endDate: to });
        const all = await ownedBy(core, account, () =>
          Array.fromAsync(core.queries.bookings.readableList(account, filter)),
        );
        if (isRefusal(all)) return all;
        const rows = all.map((each) => ({
          Id: each.bookingId,
          Date: each.date,
          Hours: `${each.startHour}-${each.endHour}`,
          Space: each.spaceName,
          Brand: each.brandName,
          Status: each.status,
          Price: price(each),
        }));
        return { json: all.map(toOperatorBooking), text: table(rows) };
      });
    });
}

function showCommand(booking: Command): void {
  booking
    .command('show')
    .description('show a booking')
    .argument('<id>', 'id of the booking', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue booking show 7')
    .action((id, _, command) => operate(command, (core) => shown(core, id)));
}

function approveCommand(booking: Command): void {
  booking
    .command('approve')
    .description('approve a request on behalf of the community')
    .argument('<id>', 'id of the booking', wholeNumber)
    .addHelpText('after', '\nExample:\n  venue booking approve 7')
    .action((id, _, command) =>
      operate(command, async (core, context) => {
        const found = await get(core, id);
        if (isRefusal(found)) return found;
        const { communityId } = found;
        const outcome = await core.commands.bookings.approve({ bookingId: id, communityId }, context);
        return isRefusal(outcome) ? outcome : shown(core, id);
      }),
    );
}

function cancelCommand(booking: Command): void {
  booking
    .command('cancel')
    .description('decline a request or cancel a booking on behalf of either party')
    .argument('<id>', 'id of the booking', wholeNumber)
    .addOption(
      new Option('--by <party>', 'party that cancels').choices(['community', 'brand'] as const).makeOptionMandatory(),
    )
    .option('--reason <text>', 'reason shown to the other party')
    .addHelpText('after', '\nExample:\n  venue booking cancel 7 --by community --reason "Water damage"')
    .action((id, { by: party, reason }, command) =>
      operate(command, async (core, context) => {
        const found = await get(core, id);
        if (isRefusal(found)) return found;
        const by = party === 'brand' ? ({ kind: 'Brand', id: found.brandId } as const) : communityOf(found);
        const outcome = await core.commands.bookings.cancel({ bookingId: id, by, ...defined({ reason }) }, context);
        return isRefusal(outcome) ? outcome : shown(core, id);
      }),
    );
}

const communityOf = ({ communityId: id }: BookingDocument) => ({ kind: 'Community', id }) as const satisfies Account;

const unknown = (id: number) => refuse('ResourceNotFound', `There is no booking ${id}.`);

async function get({ queries }: OperatorCore, id: number): Promise<ReadableBooking | Refusal> {
  return (await queries.operator.booking(id)) ?? unknown(id);
}

async function shown(core: OperatorCore, id: number): Promise<Answer | Refusal> {
  const booking = await get(core, id);
  return isRefusal(booking) ? booking : { json: toOperatorBooking(booking), text: bookingFacts(booking) };
}
