import type { BookingDocument } from '../../../projections/bookings.ts';
import type { DateRange } from '../../domain/date-range.ts';
import { defined } from '../../domain/defined.ts';
import { type Cents, type SpaceId, spaceId } from '../../domain/ids.ts';
import { AMOUNT_RULE, parseAmount } from '../../domain/pricing.ts';
import type { Space } from '../../domain/space.ts';
import { addressOf, type Fields, queryOf } from '../parts/links.ts';
import { readRange } from '../parts/typed-dates.ts';
import { Form, idOf, NO_SUCH_SPACE, type Problems } from '../parts/typed-form.ts';

/** Requests on one page of the inbox. With the longest names and messages the page is still less than 60 kB. */
const PER_PAGE = 12;
/** Rows that an open page can keep. */
const MAX_SHOWN = 24;

const FIELDS = ['space', 'from', 'to', 'min', 'max', 'sort'] as const;
type FieldName = (typeof FIELDS)[number];

/** Which requests the inbox shows, in which order. Its address and its forms carry this. */
export type RequestList = DateRange & {
  /** The fields as they were typed. */
  readonly typed: Readonly<Record<FieldName, string>>;
  readonly problems: Problems;
  readonly spaceId?: SpaceId;
  readonly min?: Cents;
  readonly max?: Cents;
  readonly sort: 'date' | 'deadline';
  /** The page begins after this request. */
  readonly after: Cursor | undefined;
  /** When the open page was made, in milliseconds since the epoch. Later requests are new to it. */
  readonly since: number | undefined;
  /** The rows of an open page, which keeps them when they are answered (docs/decisions/console.md). */
  readonly shown: readonly number[];
};

/** Identifies a request in the list: the moment that it is sorted by, in milliseconds since the epoch, and the booking. */
type Cursor = { readonly at: number; readonly bookingId: number };

/** Reads the address of the inbox. */
export function requestList(query: Form): RequestList {
  const typed = query.texts(FIELDS);
  const range = readRange(typed);
  const problems: Record<string, string> = { ...range.problems };
  const amount = (name: 'min' | 'max') => {
    const text = typed[name];
    const parsed = text === '' ? undefined : parseAmount(text);
    if (text !== '' && parsed === undefined) problems[name] = `This ${AMOUNT_RULE}.`;
    return parsed;
  };
  const [min, max] = [amount('min'), amount('max')];
  if (min !== undefined && max !== undefined && min > max) problems.max = 'The maximum is less than the minimum.';
  const space = idOf(typed.space);
  const [, at, id] = /^(\d{1,15}):(\d{1,15})$/.exec(query.text('after')) ?? [];
  const since = query.integer('since');
  return {
    typed,
    problems,
    ...range.dates,
    ...defined({ spaceId: space === undefined ? undefined : spaceId(space), min, max }),
    // By default the request that expires first comes first.
    sort: typed.sort === 'date' ? 'date' : 'deadline',
    after: isMoment(Number(at)) ? { at: Number(at), bookingId: Number(id) } : undefined,
    since: isMoment(since) ? since : undefined,
    shown: idsIn(query.text('shown')),
  };
}

/** The problems of a list, including a space that is not one of these. */
export const problemsAmong = (list: RequestList, spaces: readonly Pick<Space, 'spaceId'>[]): Problems =>
  list.typed.space === '' || spaces.some(({ spaceId: id }) => id === list.spaceId)
    ? list.problems
    : { space: NO_SUCH_SPACE, ...list.problems };

/** Whether it is a moment before the year 10000. Later timestamps do not sort as text. */
const isMoment = (ms: number): boolean => ms >= 0 && ms < Date.UTC(10_000, 0);

/** The list that a form was sent from: its field `list` holds the query. Undefined if it was sent from another page. */
export function listOfForm(form: Form): RequestList | undefined {
  const [address] = form.all('list');
  if (address === undefined) return undefined;
  const query = Object.fromEntries(new URLSearchParams(address));
  return requestList(new Form({ ...query, ...form.texts(['shown', 'since']) }));
}

const idsIn = (text: string): readonly number[] =>
  [...new Set(text.split('.').flatMap((one) => idOf(one) ?? []))].slice(0, MAX_SHOWN);

type Listed = Pick<RequestList, 'typed' | 'after'>;

const fieldsOf = ({ typed, after }: Listed): Fields => ({ ...typed, after: after && `${after.at}:${after.bookingId}` });

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
    picked: picked.filter((id) => /^\d+$/.test(id)).join('.'),
  });

export const isFiltered = ({ typed }: RequestList): boolean =>
  FIELDS.some((name) => name !== 'sort' && typed[name] !== '');

type Request = Pick<BookingDocument, 'bookingId' | 'startsAt' | 'expiresAt'>;

const cursorOf = ({ sort }: Pick<RequestList, 'sort'>, { bookingId, startsAt, expiresAt }: Request): Cursor => ({
  at: Date.parse(sort === 'deadline' ? expiresAt : startsAt),
  bookingId,
});

/** The cursor of a page that begins with a request. */
export const cursorBefore = (list: RequestList, request: Request): Cursor => {
  const { at, bookingId } = cursorOf(list, request);
  return { at, bookingId: bookingId - 1 };
};

const comesAfter = (one: Cursor, other: Cursor): boolean =>
  one.at > other.at || (one.at === other.at && one.bookingId > other.bookingId);

/** The requests that match the amounts of the list, in its order. */
export function inOrder<R extends Request & Pick<BookingDocument, 'totalPrice'>>(
  list: RequestList,
  requests: readonly R[],
): R[] {
  const { min = 0, max = Number.POSITIVE_INFINITY } = list;
  return requests
    .filter(({ totalPrice }) => totalPrice >= min && totalPrice <= max)
    .map((request) => ({ request, cursor: cursorOf(list, request) }))
    .sort((a, b) => (comesAfter(a.cursor, b.cursor) ? 1 : -1))
    .map(({ request }) => request);
}

export type ListPage<R> = {
  readonly rows: readonly R[];
  readonly previous: Neighbour | undefined;
  readonly next: Neighbour | undefined;
};

/** A page beside this one: its cursor (undefined: the beginning of the list), and its first request. */
type Neighbour = { readonly after: Cursor | undefined; readonly first: Request['bookingId'] };

/** A request this much older than a page may be new to it, because read models may lag behind the log. */
const LAG_MS = 5_000;

/** The requests that have arrived since the open page of a list was made. */
export const addedTo = <R extends Request & Pick<BookingDocument, 'createdAt'>>(
  { since, shown }: RequestList,
  ordered: readonly R[],
): R[] =>
  since === undefined
    ? []
    : ordered.filter(
        ({ bookingId, createdAt }) => Date.parse(createdAt) >= since - LAG_MS && !shown.includes(bookingId),
      );

/** One page of requests that are in order. */
export function pageOf<R extends Request>(list: RequestList, ordered: readonly R[]): ListPage<R> {
  const { after } = list;
  const found = after === undefined ? 0 : ordered.findIndex((request) => comesAfter(cursorOf(list, request), after));
  const from = found === -1 ? ordered.length : found;
  const rows = ordered.slice(from, from + PER_PAGE);
  const beginningAt = (index: number): Neighbour | undefined => {
    const [first, before] = [ordered[index], ordered[index - 1]];
    return first && { after: before && cursorOf(list, before), first: first.bookingId };
  };
  return {
    rows,
    previous: from === 0 ? undefined : beginningAt(Math.max(0, from - PER_PAGE)),
    next: beginningAt(from + rows.length),
  };
}

/** The request that follows one that was answered. */
export function following<R extends Request>(
  list: RequestList,
  ordered: readonly R[],
  answered: Request,
): R | undefined {
  const cursor = cursorOf(list, answered);
  return ordered.find((request) => comesAfter(cursorOf(list, request), cursor));
}

/** Whether an open page has room for more rows. */
export const hasRoomFor = (shown: readonly number[], more: number): boolean => shown.length + more <= MAX_SHOWN;
