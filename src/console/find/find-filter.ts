import { daysLater, LAST_ZONE, localDate } from '../../domain/calendar.ts';
import type { Community } from '../../domain/community.ts';
import { defined } from '../../domain/defined.ts';
import type { Cents, PlainDate } from '../../domain/ids.ts';
import { HOUR, hasLength, SEARCH } from '../../domain/limits.ts';
import { AMOUNT_RULE, formatAmount, parseAmount } from '../../domain/pricing.ts';
import { addressOf } from '../parts/links.ts';
import { readDate } from '../parts/typed-dates.ts';
import type { Form, Problems } from '../parts/typed-form.ts';

/** What a brand searches for. */
export type FindFilter = {
  readonly date: PlainDate;
  /** Only spaces in which an event can start at this hour. */
  readonly hour?: number | undefined;
  readonly communityId?: number | undefined;
  /** The highest price of a booking, fees included. */
  readonly most?: Cents | undefined;
  /** Words that the name contains. */
  readonly name?: string | undefined;
  /** From 1. */
  readonly page: number;
};

/** The earliest date that is still today somewhere. */
export const earliestDate = (now: number): PlainDate => localDate(now, LAST_ZONE);

/** Reads a filter from the query of its page. The default date is tomorrow. */
export function readFilter(
  query: Form,
  now: number,
  communities: readonly Community[],
): { readonly filter: FindFilter; readonly problems: Problems } {
  const problems: Record<string, string> = {};
  const text = (name: string) => query.text(name);

  let date = daysLater(localDate(now, 'UTC'), 1);
  if (text('date') !== '') {
    const read = readDate(text('date'));
    if (read.date === undefined) problems.date = read.problem;
    else if (read.date < earliestDate(now)) problems.date = 'Choose today or a later date.';
    else date = read.date;
  }
  const hour = text('hour') === '' ? undefined : query.integer('hour');
  if (hour !== undefined && !(hour >= HOUR.min && hour <= HOUR.max)) problems.hour = 'Choose a start time of the list.';
  const communityId = text('community') === '' ? undefined : query.integer('community');
  if (communityId !== undefined && !communities.some((one) => one.communityId === communityId))
    problems.community = 'There is no such community any more. Choose another one, or all of them.';
  const most = text('max') === '' ? undefined : parseAmount(text('max'));
  if (text('max') !== '' && most === undefined) problems.max = `“Maximum price” ${AMOUNT_RULE}.`;

  if (!hasLength(text('name'), SEARCH)) problems.name = `Search for at most ${SEARCH.max} characters.`;

  const page = query.integer('page');
  return {
    problems,
    filter: {
      date,
      ...defined({ hour, communityId, most, name: text('name') || undefined }),
      page: page >= 1 ? page : 1,
    },
  };
}

/** The page of a filter. */
export const findPath = ({ date, hour, communityId, most, name, page }: FindFilter): string =>
  addressOf('/console/find', {
    date,
    hour: hour?.toString(),
    community: communityId?.toString(),
    max: most === undefined ? undefined : formatAmount(most),
    name,
    page: page > 1 ? String(page) : undefined,
  });
