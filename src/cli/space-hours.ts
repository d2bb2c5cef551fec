import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { toOperatorHours } from '../contract/space.ts';
import { localDate, WEEKDAYS } from '../domain/calendar.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { DayHours } from '../domain/events.ts';
import { MAX_YEARS_AHEAD } from '../domain/limits.ts';
import type { Space, SpecialChanges } from '../domain/space.ts';
import { amount, date, daysNamed, decimal, hours, wholeNumber } from './arguments.ts';
import { type Answer, type OperatorCore, operated } from './operation.ts';
import { subcommand } from './subcommand.ts';

const EXAMPLES = [
  'space hours 1',
  'space hours 1 --week "mo-fr 9-21, sa 10-18 600.00, su closed" --gap 1 --notice 24',
  'space hours 1 --special 2026-12-24=10-14 --special 2026-12-31=none',
];

const NOTES = `The days that --week leaves out keep their hours. An amount after the hours is the fee of the day, without the service fee; without
one it has the fee of the space. --special sets the hours of one date, instead of those of its weekday; none removes them.`;

/** The hours of each weekday that `--week` names, Monday first. */
type Week = readonly (DayHours | 'closed' | undefined)[];

/** Shows and changes when a space is open, and its rules about time. */
export function hoursCommand(space: Command): void {
  const description = 'show or change the hours of a space by weekday and date, and its rules about time';
  subcommand(space, 'hours', description, EXAMPLES, NOTES)
    .argument('<id>', 'id of the space', wholeNumber)
    .option('--week <hours>', 'hours by weekday', week)
    .option('--special <date=hours>', 'hours of a date; may be repeated', special)
    .option('--gap <hours>', 'hours to keep free before and after each booking', decimal)
    .option('--notice <hours>', 'hours before its start by which an event must be requested', wholeNumber)
    .option('--horizon <days>', `days ahead that bookings are taken; default ${MAX_YEARS_AHEAD} years`, wholeNumber)
    .option('--cancel <hours>', 'hours before the start until which a brand may cancel', wholeNumber)
    .action(
      operated(async (core, id, options) => {
        const before = await core.queries.operator.space(id);
        if (before === undefined) return unknownSpace(id);
        if (Object.keys(options).length === 0) return hoursAnswer(core, before);
        const { week, special, gap, notice, horizon, cancel } = options;
        const terms = defined({
          week: week === undefined ? undefined : wholeWeek(before, week),
          gapHours: gap,
          noticeHours: notice,
          horizonDays: horizon,
          cancelHours: cancel,
        });
        // The days that `--week` leaves out come from what was read, which another user may change at the same moment.
        const seen = week === undefined ? {} : { seen: before };
        const change = { spaceId: id, terms, ...defined({ special }), ...seen };
        const outcome = await core.commands.catalogue.changeSpace(change, core.context);
        return isRefusal(outcome) ? outcome : hoursAnswer(core, outcome.state ?? before);
      }),
    );
}

const unknownSpace = (id: number): Refusal => refuse('ResourceNotFound', `There is no space ${id}.`);

const hoursAnswer = ({ clock }: OperatorCore, space: Space): Answer => ({
  json: toOperatorHours(space, localDate(clock(), space.timeZone)),
});

function wholeWeek({ week: before, windowStart, windowEnd }: Space, named: Week): readonly (DayHours | 'closed')[] {
  return WEEKDAYS.map((_, day) => named[day] ?? before?.[day] ?? { windowStart, windowEnd });
}

/** `mo-fr 9-21, sa 10-18 600.00, su closed` */
function week(text: string): Week {
  const hoursOf = new Map<number, DayHours | 'closed'>();
  for (const part of text.split(',').map((each) => each.trim())) {
    const [named = '', ...rest] = part.split(/\s+/);
    const of = rest.length === 1 && rest[0] === 'closed' ? 'closed' : dayHours(rest, part);
    for (const day of daysNamed(named)) {
      if (hoursOf.has(day)) throw new InvalidArgumentError(`It names ${WEEKDAYS[day]} twice.`);
      hoursOf.set(day, of);
    }
  }
  return WEEKDAYS.map((_, day) => hoursOf.get(day));
}

/** `9-21` or `9-21 600.00`. @param all the text that an error repeats */
function dayHours([window = '', fee, ...more]: readonly string[], all: string): DayHours {
  if (window === '' || more.length > 0)
    throw new InvalidArgumentError(
      `“${all}” must have hours such as 9-21, perhaps a fee such as 600.00, or the word closed.`,
    );
  const { windowStart, windowEnd } = hours(window);
  if (windowStart >= windowEnd) throw new InvalidArgumentError(`${window} must end after it begins.`);
  return { windowStart, windowEnd, ...(fee !== undefined && { eventFee: amount(fee) }) };
}

/** `2026-12-24=10-14`, `2026-12-24=none`; repeated options add up. */
function special(text: string, before: SpecialChanges | undefined): SpecialChanges {
  const [day = '', of, ...more] = text.split('=');
  if (of === undefined || more.length > 0)
    throw new InvalidArgumentError('It must be a date and its hours, such as 2026-12-24=10-14 or 2026-12-24=none.');
  const on = date(day);
  if (before?.[on] !== undefined) throw new InvalidArgumentError(`It names ${on} twice.`);
  return { ...before, [on]: of === 'none' ? of : dayHours(of.trim().split(/\s+/), of) };
}
