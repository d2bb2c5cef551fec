import { daysLater, LAST_ZONE, localDate, WEEKDAYS } from '../../domain/calendar.ts';
import type { Community } from '../../domain/community.ts';
import type { Refusal } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { AMENITIES, SPACE_KINDS } from '../../domain/description.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { HOUR, SEARCH } from '../../domain/limits.ts';
import { AMOUNT_RULE, formatAmount, parseAmount } from '../../domain/pricing.ts';
import { placeOf, SPACE_ORDERS, type SpaceFilter, type SpaceOrder, wrongSearch } from '../../domain/space-search.ts';
import { hasProblems, problemOf } from '../parts/forms.ts';
import { readDate } from '../parts/typed-dates.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';

/** What a brand searches for. */
export type FindFilter = {
  readonly asked: SpaceFilter;
  readonly sort: SpaceOrder;
  /** From 1. */
  readonly page: number;
};

/** The search of a brand. */
const FIND = '/console/find';

/** The fields for dates: a space must be free on one of them. */
const DATE_FIELDS = ['date', 'date2', 'date3'] as const;

/** How the fields of the form are called, in its order. */
export const FIND_LABELS = {
  guests: 'Guests',
  place: 'Place or house',
  date: 'Date',
  hour: 'Start time',
  max: 'Maximum price',
  date2: 'or on',
  date3: 'or on (a third date)',
  month: 'Instead of dates: any day in',
  weekday: 'Only on',
  within: 'Within, around coordinates',
  kind: 'Kind of room',
  community: 'Community',
  name: 'Name contains',
  amenity: 'Amenities',
  sort: 'Sort by',
} as const;
type FindField = keyof typeof FIND_LABELS;

/** The earliest date that is still today somewhere. */
export const earliestDate = (now: number): PlainDate => localDate(now, LAST_ZONE);

type FilterOptions = Pick<Visit, 'amount'> & {
  readonly communities: readonly Community[];
  readonly isPublic?: boolean;
};

/**
 * Reads a filter from the query of its page. Without dates and month, it is for tomorrow. A month takes the place of the dates.
 * @returns the filter, unless there are problems: what was typed may be no date and no month then
 * @param options.isPublic whether the page is for people without an account
 * @param options.amount undefined for a member who does not see amounts, who cannot search by them, which would tell them
 */
export function readFilter(
  query: Form,
  now: number,
  { communities, amount, isPublic = false }: FilterOptions,
): { readonly filter: FindFilter | undefined; readonly problems: Problems } {
  const problems: Partial<Record<FindField | '', string>> = {};
  if (amount === undefined && isUnseen(query)) problems[''] = 'You do not see amounts, so you cannot search by them.';
  const text = (name: FindField) => query.text(name);
  const whole = (name: FindField) => (text(name) === '' ? undefined : query.integer(name));
  const oneOf = <T extends string>(name: FindField, list: readonly T[]): T | undefined => {
    const chosen = list.find((one) => one === text(name));
    if (chosen === undefined && text(name) !== '') problems[name] = 'Choose one of the list.';
    return chosen;
  };

  const days = readDays(query, now, problems);
  const hour = whole('hour');
  if (hour !== undefined && !(hour >= HOUR.min && hour <= HOUR.max)) problems.hour = 'Choose a start time of the list.';
  const communityId = whole('community');
  if (communityId !== undefined && !communities.some((one) => one.communityId === communityId))
    problems.community = 'There is no such community any more. Choose another one, or all of them.';
  const maxPrice = text('max') === '' ? undefined : parseAmount(text('max'));
  if (text('max') !== '' && maxPrice === undefined) problems.max = `“${FIND_LABELS.max}” ${AMOUNT_RULE}.`;
  const amenities = AMENITIES.filter((one) => query.all('amenity').includes(one));
  if (query.all('amenity').some((name) => !amenities.some((one) => one === name)))
    problems.amenity = 'Choose amenities of the list.';
  const weekday = oneOf('weekday', WEEKDAYS);
  const near = isPoint(text('place')) ? placeOf(text('place')) : undefined;

  const asked: SpaceFilter = defined({
    ...days,
    hour,
    communityId,
    maxPrice,
    near,
    guests: whole('guests'),
    place: near === undefined ? text('place') || undefined : undefined,
    within: near === undefined ? undefined : whole('within'),
    weekdays: weekday && [weekday],
    amenities: amenities.length === 0 ? undefined : amenities,
    kind: oneOf('kind', SPACE_KINDS),
    name: text('name') || undefined,
  });
  const sort = oneOf('sort', SPACE_ORDERS) ?? (near === undefined ? 'fit' : 'distance');
  const page = query.integer('page');
  const all = { ...problemsOf(wrongSearch(asked, { sort, now, isPublic })), ...problems };
  return { problems: all, filter: hasProblems(all) ? undefined : { asked, sort, page: page >= 1 ? page : 1 } };
}

const isUnseen = (query: Form): boolean => query.text('max') !== '' || query.text('sort') === 'price';

/** Whether a place is a latitude and a longitude. */
const isPoint = (text: string): boolean => /^[-\d.\s]+,[-\d.\s]+$/.test(text);

function readDays(
  query: Form,
  now: number,
  problems: Partial<Record<FindField | '', string>>,
): { readonly dates?: readonly PlainDate[] | undefined; readonly month?: string | undefined } {
  if (query.text('month') !== '') return { month: query.text('month') };
  const dates = DATE_FIELDS.flatMap((field) => {
    if (query.text(field) === '') return [];
    const { date, problem } = readDate(query.text(field));
    if (date === undefined) problems[field] = problem;
    else if (date < earliestDate(now)) problems[field] = 'Choose today or a later date.';
    else return [date];
    return [];
  });
  return { dates: dates.length === 0 ? [daysLater(localDate(now, 'UTC'), 1)] : dates };
}

const TOO_LONG = `Search for at most ${SEARCH.max} characters.`;

/** A rule that is broken, at the field of the form. */
function problemsOf(refusal: Refusal | undefined): Problems {
  if (refusal === undefined) return {};
  const near = 'Write coordinates as a latitude of -90 to 90 and a longitude of -180 to 180, such as 52.52, 13.40.';
  return problemOf(refusal, FIND_LABELS, {
    near: { field: 'place', text: near },
    place: { field: 'place', text: TOO_LONG },
    name: { field: 'name', text: TOO_LONG },
    maxPrice: { field: 'max', text: `“${FIND_LABELS.max}” ${AMOUNT_RULE}.` },
    sort: { field: 'sort', text: 'To sort by distance, write coordinates as the place.' },
    weekday: { field: 'weekday', text: 'Choose a month for this day of the week.' },
  });
}

/** The page of a filter. @param path of the search */
export function findPath({ asked, sort, page }: FindFilter, path = FIND): string {
  const { near, dates = [], hour, maxPrice, amenities = [] } = asked;
  const single: Readonly<Record<string, string | number | undefined>> = {
    guests: asked.guests,
    place: near === undefined ? asked.place : `${near.latitude}, ${near.longitude}`,
    ...Object.fromEntries(DATE_FIELDS.map((field, at) => [field, dates[at]])),
    month: asked.month,
    weekday: asked.weekdays?.[0],
    hour,
    max: maxPrice === undefined ? undefined : formatAmount(maxPrice),
    within: asked.within,
    kind: asked.kind,
    community: asked.communityId,
    name: asked.name,
    sort: sort === (near === undefined ? 'fit' : 'distance') ? undefined : sort,
    page: page > 1 ? page : undefined,
  };
  const given = Object.entries(single).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return `${path}?${new URLSearchParams([...given, ...amenities.map((one) => ['amenity', one])])}`;
}

/** What narrows a search besides its days. */
export const NARROWING = [
  'guests',
  'place',
  'near',
  'hour',
  'maxPrice',
  'amenities',
  'kind',
  'communityId',
  'name',
] as const satisfies readonly (keyof SpaceFilter)[];

/** How many fields narrow a search besides its days. */
export const narrowed = (asked: SpaceFilter): number => NARROWING.filter((field) => asked[field] !== undefined).length;

/** A filter without some fields. */
export function without({ asked, sort }: FindFilter, fields: readonly (keyof SpaceFilter)[]): FindFilter {
  const left: SpaceFilter = Object.fromEntries(
    Object.entries(asked).filter(([field]) => !fields.some((one) => one === field)),
  );
  const { near, within, ...rest } = left;
  const isSorted = sort !== 'distance' || near !== undefined;
  return { asked: near === undefined ? rest : left, sort: isSorted ? sort : 'fit', page: 1 };
}
