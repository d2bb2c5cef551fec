import {
  datesBetween,
  daysOfMonth,
  isMonth,
  isYearsLater,
  LAST_ZONE,
  localDate,
  monthsLater,
  WEEKDAYS,
  type Weekday,
  weekdayIndex,
} from './calendar.ts';
import { isStartHour } from './day-terms.ts';
import { type Refusal, refuseField, refuseFor } from './decision.ts';
import type { Amenity, Coordinates, SpaceKind } from './description.ts';
import type { Cents, PlainDate } from './ids.ts';
import {
  CAPACITY,
  HOUR,
  MAX_SEARCH_DATES,
  MAX_YEARS_AHEAD,
  SEARCH,
  SEARCHED_MONTHS_AHEAD,
  WITHIN_KM,
  wrongNumber,
  wrongText,
} from './limits.ts';
import { isCalled, wordsOf } from './searched-text.ts';
import type { Space } from './space.ts';

/** What a search for spaces asks for. All of it must be true of a space; what is absent does not matter. */
export type SpaceFilter = {
  /** The space must take so many. One whose community does not say how many it takes is left out. */
  readonly guests?: number;
  readonly communityId?: number;
  /** Words of the address of the house, or of the name of its community. */
  readonly place?: string;
  /** Only houses within {@link within} of this point. One whose community does not say where it is is left out. */
  readonly near?: Coordinates;
  /** In kilometres. Default: {@link DEFAULT_WITHIN_KM}. */
  readonly within?: number;
  /** Free on one of these. */
  readonly dates?: readonly PlainDate[];
  /** Free on a day of this month (YYYY-MM), besides those of {@link dates}. */
  readonly month?: string;
  /** Only these days of {@link month}. Default: all. */
  readonly weekdays?: readonly Weekday[];
  /** An event can start at this hour. */
  readonly hour?: number;
  /** The highest price of a booking, fees included. */
  readonly maxPrice?: Cents;
  /** The space has all of these. */
  readonly amenities?: readonly Amenity[];
  readonly kind?: SpaceKind;
  /** Words of the name of the space, or of its community. */
  readonly name?: string;
};

/** By what results are sorted; ties are sorted by price, then by id. Spaces without a free hour come last. */
export const SPACE_ORDERS = ['fit', 'price', 'rating', 'distance', 'id'] as const;
export type SpaceOrder = (typeof SPACE_ORDERS)[number];

export const DEFAULT_WITHIN_KM = 25;

type Search = {
  readonly sort: SpaceOrder | undefined;
  readonly now: number;
  /** Whether it is for people without an account, who may not look as far ahead. */
  readonly isPublic: boolean;
};

/** Refuses a filter that breaks rules, all of them at once (`ValidationError`). */
export const wrongSearch = (filter: SpaceFilter, { sort, now, isPublic }: Search): Refusal | undefined => {
  const { guests, near, within, hour, place, name } = filter;
  return refuseFor([
    guests === undefined ? undefined : wrongNumber('guests', guests, CAPACITY),
    place === undefined ? undefined : wrongText('place', place, SEARCH),
    name === undefined ? undefined : wrongText('name', name, SEARCH),
    near === undefined || isPlace(near) ? undefined : refuseField('near', PLACE_RULE),
    within === undefined ? undefined : (wrongNumber('within', within, WITHIN_KM) ?? onlyWith('within', 'near', near)),
    hour === undefined ? undefined : wrongNumber('hour', hour, HOUR),
    ...wrongDays(filter, now, isPublic),
    sort === 'distance' ? onlyWith('sort', 'near', near, 'can be distance only with') : undefined,
  ]);
};

/** Phrased to follow the name of a field. */
const PLACE_RULE = 'must be a latitude of -90 to 90 and a longitude of -180 to 180, such as 52.52,13.40';

/** A place as people write it, such as `52.52, 13.40`; one without numbers, which is refused, if it is none. */
export function placeOf(text: string): Coordinates {
  const [, latitude, longitude] = /^\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
  return { latitude: Number(latitude ?? Number.NaN), longitude: Number(longitude ?? Number.NaN) };
}

const isPlace = ({ latitude, longitude }: Coordinates): boolean =>
  Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;

const onlyWith = (field: string, other: string, value: unknown, rule = 'can be given only with') =>
  value === undefined ? refuseField(field, rule, other) : undefined;

function wrongDays(
  { dates = [], month, weekdays }: SpaceFilter,
  now: number,
  isPublic: boolean,
): readonly (Refusal | undefined)[] {
  const today = localDate(now, LAST_ZONE);
  const most = isPublic ? `${SEARCHED_MONTHS_AHEAD} months` : `${MAX_YEARS_AHEAD} years`;
  const last = monthsLater(today.slice(0, 7), SEARCHED_MONTHS_AHEAD);
  const isTooFar = (date: PlainDate) =>
    isPublic ? date.slice(0, 7) > last : isYearsLater(date, today, MAX_YEARS_AHEAD);
  const inMonth = month !== undefined && isMonth(month) ? daysOfMonth(month) : undefined;
  return [
    dates.length > MAX_SEARCH_DATES ? refuseField('date', `must be at most ${MAX_SEARCH_DATES} dates`) : undefined,
    dates.some((date) => date < today) ? refuseField('date', 'must be today or later') : undefined,
    dates.some(isTooFar) ? refuseField('date', `must be at most ${most} ahead`) : undefined,
    month !== undefined && inMonth === undefined ? refuseField('month', 'must be a month such as 2027-05') : undefined,
    inMonth !== undefined && inMonth.endDate < today ? refuseField('month', 'must not be over') : undefined,
    inMonth !== undefined && isTooFar(inMonth.startDate)
      ? refuseField('month', `must be at most ${most} ahead`)
      : undefined,
    weekdays === undefined ? undefined : onlyWith('weekday', 'month', month),
  ];
}

/** The days of which a space must be free on one, in order. Undefined if the filter has none. Leaves out those of a month that are over. */
export function searchedDays(
  { dates = [], month, weekdays }: SpaceFilter,
  now: number,
): readonly PlainDate[] | undefined {
  if (dates.length === 0 && month === undefined) return undefined;
  return [...new Set([...dates, ...daysIn(month, weekdays, now)])].toSorted();
}

function daysIn(month: string | undefined, weekdays: readonly Weekday[] = WEEKDAYS, now: number): PlainDate[] {
  if (month === undefined) return [];
  const { startDate, endDate } = daysOfMonth(month);
  const today = localDate(now, LAST_ZONE);
  const wanted = new Set<number>(weekdays.map((day) => WEEKDAYS.indexOf(day)));
  return [...datesBetween(startDate, endDate)].filter((date) => date >= today && wanted.has(weekdayIndex(date)));
}

/** A space with what a search compares. The texts are folded. */
export type SearchedSpace = {
  readonly space: Space;
  readonly name: string;
  readonly communityName: string;
  /** The address in one line. */
  readonly address: string;
  /** The most guests. */
  readonly capacity?: number | undefined;
  readonly coordinates?: Coordinates | undefined;
};

/** Whether a space is what a filter asks for, and how far away it is, apart from days and prices. Words are folded once, not for each space. */
export function matcherOf(filter: SpaceFilter): (searched: SearchedSpace) => { readonly km?: number } | undefined {
  const { guests, communityId, near, within = DEFAULT_WITHIN_KM, amenities = [], kind, hour } = filter;
  const [nameWords, placeWords] = [filter.name, filter.place].map((text) => (text ? wordsOf(text) : undefined));
  return ({ space, name, communityName, address, capacity, coordinates }) => {
    const { facts = {} } = space;
    if (communityId !== undefined && space.communityId !== communityId) return undefined;
    if (guests !== undefined && (capacity ?? 0) < guests) return undefined;
    if (kind !== undefined && facts.kind !== kind) return undefined;
    if (!amenities.every((amenity) => facts.amenities?.includes(amenity))) return undefined;
    if (hour !== undefined && !isStartHour(space, hour)) return undefined;
    if (nameWords !== undefined && !isCalled([name, communityName], nameWords)) return undefined;
    if (placeWords !== undefined && !isCalled([address, communityName], placeWords)) return undefined;
    if (near === undefined) return NO_DISTANCE;
    const km = coordinates && distanceKm(near, coordinates);
    return km === undefined || km > within ? undefined : { km };
  };
}

const NO_DISTANCE = {};
/** Of a sphere with the volume of the Earth. */
const EARTH_RADIUS_KM = 6_371;

/** Along a great circle. */
function distanceKm(a: Coordinates, b: Coordinates): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  const half = (from: number, to: number) => Math.sin(radians(to - from) / 2) ** 2;
  const along = Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude));
  const part = half(a.latitude, b.latitude) + along * half(a.longitude, b.longitude);
  return 2 * EARTH_RADIUS_KM * Math.asin(Math.min(1, Math.sqrt(part)));
}

/** What the order of results depends on. */
export type Ranked = {
  readonly space: Space;
  readonly capacity?: number | undefined;
  /** Whether an event can start on one of the days, if the search has any. */
  readonly isFree: boolean;
  readonly price: Cents;
  readonly km?: number | undefined;
  readonly rating?: { readonly average: number; readonly count: number } | undefined;
};

type Compare = (a: Ranked, b: Ranked) => number;

const lastIfAbsent = (value: number | undefined): number => value ?? Number.MAX_SAFE_INTEGER;

const byCapacity: Compare = (a, b) => lastIfAbsent(a.capacity) - lastIfAbsent(b.capacity);

/** Better ratings first, then those by more reviews. */
const byRating: Compare = (a, b) =>
  (b.rating?.average ?? 0) - (a.rating?.average ?? 0) || (b.rating?.count ?? 0) - (a.rating?.count ?? 0);

/** The order of results, for a stable sort of spaces that are in the order of their ids. Fit: of those that take the guests, the smallest first. */
export function orderOf(sort: SpaceOrder, { guests }: SpaceFilter): Compare {
  if (sort === 'id') return () => 0;
  const fits: Compare = guests === undefined ? () => 0 : byCapacity;
  const by: { readonly [S in Exclude<SpaceOrder, 'id'>]: Compare } = {
    fit: fits,
    price: () => 0,
    rating: byRating,
    distance: (a, b) => lastIfAbsent(a.km) - lastIfAbsent(b.km),
  };
  const first = by[sort];
  return (a, b) => Number(b.isFree) - Number(a.isFree) || first(a, b) || a.price - b.price;
}

/** The hours of a set of bits, in order. */
export const hoursOf = (bits: number): number[] => HOURS.filter((hour) => (bits & (1 << hour)) !== 0);

const HOURS = Array.from({ length: HOUR.max + 1 }, (_, hour) => hour);
