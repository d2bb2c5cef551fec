import { type Command, Option, type OptionValues } from '@commander-js/extra-typings';
import { toOperatorBooking } from '../contract/booking.ts';
import { type OperatorHistoryEntry, operatorHistoryEntries } from '../contract/history-entry.ts';
import { accountInWords } from '../domain/account.ts';
import type { Until } from '../domain/as-of.ts';
import { refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { csvText } from '../text/csv.ts';
import { date, moment, wholeNumber } from './arguments.ts';
import { type Answer, type Invoked, isJson, operated } from './operation.ts';
import { subcommand, wrongUsage } from './subcommand.ts';

/** Adds the options for the point in time and the output format. */
const withUntil = <Arguments extends unknown[], Options extends OptionValues>(command: Command<Arguments, Options>) =>
  command
    .addOption(
      new Option('--as-of <time>', 'state at this time: ISO 8601 with a time zone, or a date (midnight UTC)')
        .argParser(moment)
        .conflicts('revision'),
    )
    .addOption(
      new Option('--revision <number>', 'state after this event of the stream of the space and day').argParser(
        wholeNumber,
      ),
    )
    .option('--csv', 'print the events as CSV');

const untilOf = (options: { readonly asOf?: Timestamp | undefined; readonly revision?: number | undefined }): Until =>
  defined({ asOf: options.asOf === undefined ? undefined : Date.parse(options.asOf), revision: options.revision });

const AS_OF = `Shows the events from the stream of the space and day, and the bookings they result in. --as-of shows the events before the first one that
is later. --csv prints only the events.`;

/** `venue booking history`: the events of a booking, and the booking they fold to. */
export function bookingHistoryCommand(booking: Command): void {
  const history = subcommand(
    booking,
    'history',
    'show the history of a booking with times and actors, and its state at a time',
    ['booking history 7', 'booking history 7 --as-of 2026-03-01T12:00:00Z', 'booking history 7 --revision 3 --json'],
    AS_OF,
  ).argument('<id>', 'id of the booking', wholeNumber);
  withUntil(history).action(
    operated(async ({ queries }, id, options, command) => {
      const history = await queries.bookingHistory.ofBooking('operator', id, untilOf(options));
      if (history === undefined) return refuse('ResourceNotFound', `There is no booking ${id}.`);
      const events = operatorHistoryEntries(history.steps);
      if (wantsCsv(command, options)) return csv(events);
      const state = history.booking;
      return { json: { booking: state === undefined ? null : toOperatorBooking(state), events } };
    }),
  );
}

/** `venue day`: the events of a space on a day, and the resulting bookings. */
export function dayCommand(venue: Command): void {
  const ofDay = subcommand(
    venue,
    'day',
    'show the events of a space on one day, and its bookings at a time',
    ['day 1 2026-03-14', 'day 1 2026-03-14 --as-of 2026-03-01T12:00:00Z', 'day 1 2026-03-14 --csv > day.csv'],
    AS_OF,
  )
    .argument('<space-id>', 'id of the space', wholeNumber)
    .argument('<date>', 'the day', date);
  withUntil(ofDay).action(
    operated(async ({ queries }, spaceId, day, options, command) => {
      const space = await queries.operator.space(spaceId);
      if (space === undefined) return refuse('ResourceNotFound', `There is no space ${spaceId}.`);
      const { steps, bookings } = await queries.bookingHistory.ofDay(spaceId, day, untilOf(options));
      const events = operatorHistoryEntries(steps);
      if (wantsCsv(command, options)) return csv(events);
      return { json: { spaceId: space.spaceId, date: day, bookings: bookings.map(toOperatorBooking), events } };
    }),
  );
}

/** Whether the caller wants CSV. CSV with JSON is wrong usage. */
export function wantsCsv(command: Invoked, { csv: isWanted = false }: { readonly csv?: boolean | undefined }): boolean {
  if (isWanted && isJson(command)) throw wrongUsage('use either --csv or --json, not both');
  return isWanted;
}

/** The change of each field, in words. */
export const changesText = (changes: OperatorHistoryEntry['changes']): string =>
  Object.entries(changes)
    .map(([field, { from, to }]) => `${field} ${from === undefined ? '' : `${from} → `}${to}`)
    .join(', ');

const HEADER = [
  'revision',
  'at',
  'event',
  'bookingId',
  'status',
  'actorKind',
  'actorId',
  'actorName',
  'account',
  'changes',
];

function csv(events: readonly OperatorHistoryEntry[]): Answer {
  const rows = events.map(({ revision: at, actor, changes, ...entry }) => [
    ...[at, entry.at, entry.event, entry.bookingId, changes.status?.to, actor.kind, actor.id, actor.name],
    ...[actor.account && accountInWords(actor.account), changesText(changes)],
  ]);
  return { json: undefined, document: csvText(HEADER, rows) };
}
