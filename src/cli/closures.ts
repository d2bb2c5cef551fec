import type { Command } from '@commander-js/extra-typings';
import type { Progress } from '../commands/closure-days.ts';
import { toOperatorClosure } from '../contract/closure.ts';
import { localDate } from '../domain/calendar.ts';
import { noClosure } from '../domain/closure.ts';
import { isRefusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { MAX_SPACE_DAYS } from '../domain/limits.ts';
import { picked } from '../domain/picked.ts';
import { date, hours, weekdays, wholeNumber } from './arguments.ts';
import { importCommand } from './closure-import.ts';
import { type Invoked, type OperatorCore, operate, operated } from './operation.ts';
import { withProgressBar } from './progress.ts';
import { answer, checkRange, subcommand, wrongUsage } from './subcommand.ts';

const COLUMNS = ['id', 'kind', 'from', 'to', 'weekdays', 'hours', 'spaceIds', 'title', 'closedDays', 'state'];

const ADD_NOTES = `Bookings that are there stay, and are listed. An own event is entered on free hours only: days on which they are not free are
left out, and listed. At most ${MAX_SPACE_DAYS.toLocaleString('en')} days of spaces at once.`;

const CHANGE_NOTES = `Its days get a new id, which is printed. Bookings that are there stay, and are listed. An own event takes free hours only: days on which
the new ones are not free are listed, and stay as they were, under the former id.`;

const LEAVE_OUT_NOTES = `The hours of this date can be booked again, and it cannot be taken back. Without its last date, the closed time or own event has
ended.`;

/** Fewer days are closed before a bar could be read. */
const SHOWN_FROM_DAYS = 100;

export function closureCommands(venue: Command): void {
  const closure = venue.command('closure').description('manage closed times, and own events of communities');
  addCommand(closure);
  listCommand(closure);
  changeCommand(closure);
  leaveOutCommand(closure);
  endCommand(closure);
  importCommand(closure);
}

function addCommand(closure: Command): void {
  subcommand(
    closure,
    'add',
    'close hours of spaces, or enter an own event',
    [
      'closure add --community 1 --from 2026-12-24 --to 2026-12-26 --title Christmas',
      'closure add --community 1 --space 4 --from 2027-01-04 --to 2027-06-30 --weekdays mo --hours 18-20 --own-event --title Choir',
    ],
    ADD_NOTES,
  )
    .requiredOption('--community <id>', 'community that owns the spaces', wholeNumber)
    .option('--space <id>', 'one of its spaces; may be repeated; default: all of today', spaceIds)
    .requiredOption('--from <date>', 'first date', date)
    .requiredOption('--to <date>', 'last date', date)
    .option('--weekdays <days>', 'only on these days: sa,su or mo-fr', weekdays)
    .option('--hours <hours>', 'hours, such as 9-12; default: the whole day', hours)
    .option('--own-event', 'an event of the community itself')
    .option('--title <text>', 'what it is called; brands never see it')
    .action((options, command) => {
      const { community, space, hours = { windowStart: 0, windowEnd: 24 }, ownEvent, ...rest } = options;
      const wanted = {
        communityId: community,
        kind: ownEvent ? 'OwnEvent' : 'Closure',
        start: hours.windowStart,
        until: hours.windowEnd,
        ...defined({ spaceIds: space }),
        ...defined(rest),
      } as const;
      checkRange(wanted.from, wanted.to);
      return operate(command, async ({ commands, context }) => {
        const work = (show: Progress) => commands.closures.add(wanted, context, show);
        return answer(await withBar(command, work), (closing) => ({ json: closing }));
      });
    });
}

function listCommand(closure: Command): void {
  const description = 'list the closed times and own events of a community that have not ended';
  subcommand(closure, 'list', description, 'closure list --community 1 --from 2026-12-01 --to 2026-12-31')
    .requiredOption('--community <id>', 'community that owns the spaces', wholeNumber)
    .option('--from <date>', 'only those that reach to this date or later; default: today', date)
    .option('--to <date>', 'only those that begin on or before this date', date)
    .action(({ community: id, from, to }, command) => {
      checkRange(from, to);
      return operate(command, async ({ queries, clock }) => {
        const community = (await queries.spaces.communities()).find(({ communityId }) => communityId === id);
        if (community === undefined) return refuse('ResourceNotFound', `There is no community ${id}.`);
        const { communityId, timeZone } = community;
        const closures = await queries.closures.list(communityId, from ?? localDate(clock(), timeZone), to);
        return { json: closures.map(toOperatorClosure), columns: COLUMNS };
      });
    });
}

function endCommand(closure: Command): void {
  const description = 'end a closed time or an own event on all of its days';
  subcommand(closure, 'end', description, 'closure end 019ae2c4-5a3f-7c1e-8d07-2f8e6f0c9b11')
    .argument('<id>', 'id of the closed time or own event')
    .action(
      operated(async (core, id, _, command) => {
        const named = await closureWith(core, id);
        if (isRefusal(named)) return named;
        const work = (show: Progress) => core.commands.closures.end(named, core.context, show);
        return answer(await withBar(command, work), (ended) => ({ json: ended }));
      }),
    );
}

function changeCommand(closure: Command): void {
  const id = '019ae2c4-5a3f-7c1e-8d07-2f8e6f0c9b11';
  subcommand(
    closure,
    'change',
    'change the hours or the title of a closed time or an own event',
    [`closure change ${id} --hours 18-21`, `closure change ${id} --date 2027-01-04 --hours 19-21 --title Concert`],
    CHANGE_NOTES,
  )
    .argument('<id>', 'id of the closed time or own event')
    .option('--date <date>', 'only this one of its dates; default: all from today on', date)
    .option('--hours <hours>', 'new hours, such as 9-12; 0-24 for the whole day', hours)
    .option('--title <text>', 'new title; empty for none')
    .action((id, { hours, ...rest }, command) => {
      if (hours === undefined && rest.title === undefined) throw wrongUsage('Name --hours or --title');
      return operate(command, async (core) => {
        const named = await closureWith(core, id);
        if (isRefusal(named)) return named;
        const wanted = {
          ...named,
          ...defined({ start: hours?.windowStart, until: hours?.windowEnd }),
          ...defined(rest),
        };
        const work = (show: Progress) => core.commands.closures.change(wanted, core.context, show);
        return answer(await withBar(command, work), (changed) => ({ json: changed }));
      });
    });
}

function leaveOutCommand(closure: Command): void {
  const description = 'leave out one date of a closed time or an own event, on all of its spaces';
  const example = 'closure leave-out 019ae2c4-5a3f-7c1e-8d07-2f8e6f0c9b11 --date 2027-01-04';
  subcommand(closure, 'leave-out', description, example, LEAVE_OUT_NOTES)
    .argument('<id>', 'id of the closed time or own event')
    .requiredOption('--date <date>', 'one of its dates', date)
    .action(
      operated(async (core, id, { date: leftOut }) => {
        const named = await closureWith(core, id);
        if (isRefusal(named)) return named;
        const outcome = await core.commands.closures.leaveOut({ ...named, date: leftOut }, core.context);
        return answer(outcome, (json) => ({ json }));
      }),
    );
}

/** The closed time with an id, and the community that it is of. */
async function closureWith({ queries }: OperatorCore, id: string) {
  const stored = await queries.operator.closure(id);
  return stored === undefined ? noClosure(id) : picked(stored, ['closureId', 'communityId']);
}

const spaceIds = (text: string, before: readonly number[] = []): readonly number[] => [...before, wholeNumber(text)];

const withBar = <R>(command: Invoked, work: (show: Progress) => Promise<R>): Promise<R> =>
  withProgressBar(command, (show) => work((progress) => progress.total >= SHOWN_FROM_DAYS && show(progress)), 'days');
