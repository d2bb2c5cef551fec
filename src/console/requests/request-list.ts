import type { BookingDocument } from '../../../projections/bookings.ts';
import { defined } from '../../domain/defined.ts';
import { bookingId, spaceId } from '../../domain/ids.ts';
import { AMOUNT_RULE, parseAmount } from '../../domain/pricing.ts';
import type { Space } from '../../domain/space.ts';
import { placeIn, type RequestFilter, type RequestOrder } from '../../queries/requests.ts';
import { addressOf, type Fields, queryOf } from '../parts/links.ts';
import { readRange } from '../parts/typed-dates.ts';
import { Form, idOf, NO_SUCH_SPACE, type Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';

/** Rows that an open page can keep. */
export const MAX_SHOWN = 24;

const FIELDS = ['space', 'from', 'to', 'min', 'max', 'sort'] as const;
type FieldName = (typeof FIELDS)[number];

/** Which requests the inbox shows, in which order. Its address and its forms carry this. */
export type RequestList = {
  /** The fields as they were typed. */
  readonly typed: Readonly<Record<FieldName, string>>;
  readonly problems: Problems;
  readonly filter: RequestFilter;
  readonly sort: RequestOrder;
  /** The page begins after this place. */
  readonly after: Cursor | undefined;
  /** When the open page was made, in milliseconds since the epoch. Later requests are new to it. */
  readonly since: number | undefined;
  /** The rows of an open page, which keeps them when they are answered (docs/decisions/console.md). */
  readonly shown: readonly number[];
};

/** A place in the order of the list (`placeIn`). */
export type Cursor = readonly (string | number)[];

/** Reads the address of the inbox. For a member who does not see amounts, it is not filtered by them, which would tell them. */
export function requestList(query: Form, visit: Pick<Visit, 'amount'>): RequestList {
  const typed = query.texts(FIELDS);
  const range = readRange(typed);
  const problems: Record<string, string> = { ...range.problems };
  const amountIn = (name: 'min' | 'max') => {
    const text = typed[name];
    if (text !== '' && visit.amount === undefined) {
      problems[''] = 'You do not see amounts, so you cannot filter by them.';
      return undefined;
    }
    const parsed = text === '' ? undefined : parseAmount(text);
    if (text !== '' && parsed === undefined) problems[name] = `This ${AMOUNT_RULE}.`;
    return parsed;
  };
  const [min, max] = [amountIn('min'), amountIn('max')];
  if (min !== undefined && max !== undefined && min > max) problems.max = 'The maximum is less than the minimum.';
  const space = idOf(typed.space);
  // By default the request that expires first comes first.
  const sort = typed.sort === 'date' ? 'date' : 'deadline';
  const since = query.integer('since');
  return {
    typed,
    problems,
    filter: { ...range.dates, ...defined({ spaceId: space === undefined ? undefined : spaceId(space), min, max }) },
    sort,
    after: cursorIn(query.text('after'), sort),
    since: isMoment(since) ? since : undefined,
    shown: idsIn(query.text('shown')).slice(0, MAX_SHOWN),
  };
}

/** The problems of a list, including a space that is not one of these. */
export const problemsAmong = (list: RequestList, spaces: readonly Pick<Space, 'spaceId'>[]): Problems =>
  list.typed.space === '' || spaces.some(({ spaceId: id }) => id === list.filter.spaceId)
    ? list.problems
    : { space: NO_SUCH_SPACE, ...list.problems };

/** Whether it is a moment before the year 10000. Later timestamps do not sort as text. */
const isMoment = (ms: number): boolean => ms >= 0 && ms < Date.UTC(10_000, 0);

/** The list that a form was sent from: its field `list` holds the query. Undefined if it was sent from another page. */
export function listOfForm(visit: Pick<Visit, 'form' | 'amount'>): RequestList | undefined {
  const { form } = visit;
  const address = listIn(form);
  return address === undefined ? undefined : listAt(address, visit, form.texts(['shown', 'since']));
}

/** The query of the list that a form or a page was opened from. Undefined if it was not opened from the inbox. */
export const listIn = (form: Form): string | undefined => form.all('list')[0];

/** The list of a query. @param open the rows of an open page, and since when it is open */
export const listAt = (
  address: string | undefined,
  visit: Pick<Visit, 'amount'>,
  open: Readonly<Record<string, string>> = {},
): RequestList => requestList(new Form({ ...Object.fromEntries(new URLSearchParams(address)), ...open }), visit);

/** The ids in a text such as `12.13`: a row of several requests has all of theirs. */
export const idsIn = (text: string): readonly number[] => [
  ...new Set(text.split('.').flatMap((one) => idOf(one) ?? [])),
];

type Listed = Pick<RequestList, 'typed' | 'after'>;

const fieldsOf = ({ typed, after }: Listed): Fields => ({ ...typed, after: after?.join(SEPARATOR) });

/** The filter and the page as the query of an address. Empty for the first page of the unfiltered list. */
export const inboxQuery = (list: Listed): string => queryOf(fieldsOf(list));

/** The address of the inbox with a filter, on a page. */
export const inboxPath = (
  list: Listed,
  {
    shown = [],
    since,
    picked = [],
  }: {
    readonly shown?: readonly number[];
    readonly since?: number | undefined;
    readonly picked?: readonly string[];
  } = {},
): string =>
  addressOf('/console/inbox', {
    ...fieldsOf(list),
    shown: shown.join('.'),
    since: since?.toString(),
    // The first of a row names it.
    picked: picked.flatMap((ids) => idsIn(ids).slice(0, 1)).join('.'),
  });

export const isFiltered = ({ typed }: RequestList): boolean =>
  FIELDS.some((name) => name !== 'sort' && typed[name] !== '');

/** The cursor of a page that begins with a request. */
export const cursorBefore = ({ sort }: RequestList, request: BookingDocument): Cursor =>
  placeIn(sort, { ...request, bookingId: bookingId(request.bookingId - 1) });

const SEPARATOR = '_';

/** The values of the fields that each order sorts by: `2026-11-20T09:00:00.000Z_17`, `2026-11-20_9_17`. */
const CURSORS: { readonly [O in RequestOrder]: RegExp } = {
  deadline: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z_\d{1,15}$/,
  date: /^\d{4}-\d\d-\d\d_\d{1,2}_\d{1,15}$/,
};

function cursorIn(text: string, sort: RequestOrder): Cursor | undefined {
  if (!CURSORS[sort].test(text)) return undefined;
  const [at = '', ...numbers] = text.split(SEPARATOR);
  return [at, ...numbers.map(Number)];
}

/** Whether an open page has room for more rows. */
export const hasRoomFor = (rowIds: readonly number[], more: number): boolean => rowIds.length + more <= MAX_SHOWN;
