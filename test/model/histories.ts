import fc from 'fast-check';
import { CHOSEN_KINDS, type Ticked } from './mail-choices.ts';
import type { Booking, MovePrice, Party, Place, Request, Role, Terms } from './model.ts';
import { clockAt, daysAfter, type LocalDate, momentOf, type Zone } from './moments.ts';

/** The world in which a history begins: two communities, the second in UTC, with three spaces, and two brands. */
export type World = {
  readonly zone: Zone;
  readonly start: number;
  readonly terms: readonly Terms[];
  /** Whether it begins on the release before. Each restart then goes to the other release. */
  readonly isUpgraded: boolean;
  /** The day on which its clocks change, or another special one. */
  readonly change: LocalDate;
};

/** A caller, or one of those who act for that party of the booking. */
type OfSide = { readonly by: number; readonly side?: Party['kind'] | undefined };

/**
 * One call of a client, or something that happens. Numbers choose among what there is: the third caller, the last booking. Negative ones count
 * from the end.
 */
export type Step =
  | {
      readonly do: 'request';
      readonly by: number;
      readonly space: number;
      readonly day: Day;
      readonly hour: number;
      readonly message?: '' | 'text' | 'long' | undefined;
      readonly idempotencyKey?: number | undefined;
    }
  /** A request of the space and day of a booking, for about the hour at which that ends by the clock. */
  | { readonly do: 'rival'; readonly by: number; readonly booking: number; readonly offset: number }
  /** The last request with a key that was accepted, once more. */
  | { readonly do: 'retry' }
  | { readonly do: 'availability'; readonly by: number; readonly space: number; readonly day: Day }
  | {
      readonly do: 'list';
      readonly by: number;
      readonly from?: number | undefined;
      readonly status?: 'Pending' | 'Approved' | 'Cancelled' | 'Completed' | undefined;
    }
  | { readonly do: 'booking'; readonly by: number; readonly booking: number }
  | { readonly do: 'reviews'; readonly by: number; readonly community: number }
  | { readonly do: 'approve'; readonly by: number; readonly booking: number }
  | { readonly do: 'cancel'; readonly by: number; readonly booking: number }
  /**
   * To a space, so many days and hours after those that the booking has, or to where the other party has asked to move it. In worlds that
   * begin on the release before, which knows no moves, nothing happens.
   */
  | (OfSide & {
      readonly do: 'move';
      readonly booking: number;
      readonly space: number;
      readonly days: number;
      readonly hours: number;
      readonly price: MovePrice;
      readonly isAgreed: boolean;
    })
  /** Of the bookings whose move waits, the last ones first. It is accepted by the party that has to answer. */
  | (OfSide & { readonly do: 'answerMove'; readonly booking: number; readonly accepts: boolean })
  | { readonly do: 'review'; readonly by: number; readonly booking: number; readonly rating: number }
  | {
      readonly do: 'close';
      readonly kind: 'Closure' | 'OwnEvent';
      readonly space: number;
      readonly day: Day;
      readonly start: number;
      readonly length: number;
    }
  | { readonly do: 'endClosed'; readonly closed: number }
  | { readonly do: 'terms'; readonly space: number; readonly terms: Partial<Terms> }
  | { readonly do: 'active'; readonly space: number; readonly active: boolean }
  | { readonly do: 'issueKey'; readonly party: number; readonly permissions: number }
  | { readonly do: 'revokeKey'; readonly key: number }
  | { readonly do: 'registerWebhook'; readonly by: number; readonly events: number }
  | { readonly do: 'removeWebhook'; readonly by: number; readonly webhook: number }
  | { readonly do: 'webhooks'; readonly by: number }
  | { readonly do: 'join'; readonly user: number; readonly party: number; readonly role: Role }
  | { readonly do: 'setRole'; readonly by: number; readonly member: number; readonly role: Role }
  | { readonly do: 'removeMember'; readonly by: number; readonly member: number }
  | { readonly do: 'connect'; readonly member: number; readonly face: 'api' | 'mcp' }
  /** For all spaces, or for one. */
  | ({ readonly do: 'chooseMail'; readonly member: number; readonly space?: number | undefined } & Ticked)
  /** The link in the headers of a mail. */
  | { readonly do: 'unsubscribe'; readonly mail: number }
  /** Requests of one space on days in a row. */
  | { readonly do: 'flood'; readonly by: number; readonly days: number }
  | { readonly do: 'forget'; readonly subject: number }
  | { readonly do: 'pass'; readonly hours: number }
  | { readonly do: 'runScheduler' }
  | { readonly do: 'send'; readonly isMailAway: boolean }
  /** Also to another release: see {@link World}. */
  | { readonly do: 'restart' };

/** Days from today, or the day on which the clocks of the world change. */
export type Day = number | 'change';

/** The accounts of every history. The ids are those that a new store gives. */
export const PARTIES: readonly Party[] = [
  { kind: 'Community', id: 1 },
  { kind: 'Community', id: 2 },
  { kind: 'Brand', id: 1 },
  { kind: 'Brand', id: 2 },
];

type SpecialDay = { readonly zone: Zone; readonly date: LocalDate };
const ZONES: readonly Zone[] = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'America/Havana',
  'Asia/Beirut',
  'Pacific/Apia',
  'Asia/Kathmandu',
];
/** The changes of clocks within two years. */
const CHANGES = ZONES.flatMap(changesOf);
const OTHER_DAYS = ZONES.flatMap((zone) => ['2026-12-31', '2028-02-29'].map((date) => ({ zone, date })));

function changesOf(zone: Zone): readonly SpecialDay[] {
  const start = Temporal.ZonedDateTime.from(`2026-12-02[${zone}]`);
  const changes: SpecialDay[] = [];
  for (let at = start.getTimeZoneTransition('next'); at; at = at.getTimeZoneTransition('next')) {
    if (at.since(start).total('days') > 730) break;
    changes.push({ zone, date: at.toPlainDate().toString() });
  }
  return changes;
}

const quarters = (most: number) => fc.integer({ min: 1, max: 4 * most }).map((count) => count / 4);
/** Absent once in `freq`: with 1, always. */
const some = <T>(value: fc.Arbitrary<T>, freq = 2) => fc.option(value, { nil: undefined, freq });
const defined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;

const hours = fc
  .record({
    windowStart: fc.constantFrom(0, 0, 1, 9),
    length: fc.oneof(fc.constant(23), fc.integer({ min: 1, max: 23 })),
    eventFee: fc.integer({ min: 0, max: 30_001 }),
  })
  .map(({ windowStart, length, eventFee }) => ({
    windowStart,
    windowEnd: Math.min(23, windowStart + length),
    eventFee,
  }));

const terms: fc.Arbitrary<Terms> = fc
  .record({
    hours,
    durationHours: fc.oneof(quarters(3), quarters(6), quarters(6), quarters(23)),
    answerHours: fc.constantFrom(1, 24, 72),
    gapHours: some(quarters(4)),
    noticeHours: fc.constantFrom(undefined, undefined, undefined, 1, 24),
    horizonDays: fc.constantFrom(undefined, undefined, undefined, 1, 3, 30),
    cancelHours: some(fc.constantFrom(1, 24, 72), 4),
    week: some(fc.array(fc.oneof(hours, hours, fc.constant('closed' as const)), { minLength: 7, maxLength: 7 })),
  })
  .map(({ hours: base, ...rest }) => defined({ ...base, ...rest }) as Terms);

/** A space that is open all night, for events of a few hours. Some of them hold hours that the clocks skip or show twice. */
const nightTerms: fc.Arbitrary<Terms> = fc
  .record({ durationHours: quarters(5), answerHours: fc.constantFrom(24, 72), gapHours: some(quarters(2)) })
  .map((rest) => defined({ windowStart: 0, windowEnd: 23, eventFee: 30_001, ...rest }) as Terms);

export const worlds: fc.Arbitrary<World> = fc
  .record({
    change: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...CHANGES) },
      { weight: 1, arbitrary: fc.constantFrom(...OTHER_DAYS) },
    ),
    daysBefore: fc.constantFrom(0, 1, 1, 2, 3),
    hour: fc.constantFrom(0, 1, 12, 23),
    // The first two are where the clocks change.
    terms: fc.tuple(nightTerms, terms, terms),
    isUpgraded: fc.constantFrom(false, false, true),
  })
  .map(({ change: { zone, date }, daysBefore, hour, isUpgraded, terms: each }) => ({
    isUpgraded,
    terms: isUpgraded ? each.map(withoutGap) : each,
    zone,
    change: date,
    start: momentOf(zone, daysAfter(date, -daysBefore), hour),
  }));

const index = fc.nat(13);
/** The callers at the beginning: a key of each account, then the members in the console. */
const ofCommunity = fc.constantFrom(0, 4, 7);
const ofBrands = fc.constantFrom(2, 3, 5, 6);
const newest = fc.integer({ min: -3, max: -1 });
const day: fc.Arbitrary<Day> = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -1, max: 4 }) },
  { weight: 5, arbitrary: fc.constant('change' as const) },
  { weight: 1, arbitrary: fc.constantFrom(30, 400, 1_826, 1_827, 3_000) },
);
/** Mostly, a party of the booking moves it. */
const side = some(fc.constantFrom('Brand', 'Community'), 6);
const role = fc.constantFrom<Role>('Viewer', 'Coordinator', 'Manager');
/** Most clocks change in the night. */
const hour = fc.oneof(fc.nat(2), fc.nat(5), fc.nat(24));
const a = <D extends Step['do']>(name: D, fields: object, weight: number) => ({
  weight,
  arbitrary: fc.record({ do: fc.constant(name), ...fields }).map(defined) as fc.Arbitrary<Step>,
});

export const steps: fc.Arbitrary<Step> = fc.oneof(
  a(
    'request',
    {
      by: fc.oneof({ weight: 3, arbitrary: ofBrands }, newest, index),
      space: fc.oneof(fc.constant(0), fc.nat(1), index),
      day: fc.oneof(fc.constant('change' as const), day),
      hour,
      message: some(fc.constantFrom('', 'text', 'text', 'long')),
      idempotencyKey: some(fc.nat(2)),
    },
    12,
  ),
  a('rival', { by: ofBrands, booking: fc.nat(1), offset: fc.constantFrom(0, -1, -1, 1) }, 8),
  a('retry', {}, 5),
  a('availability', { by: index, space: index, day }, 6),
  a(
    'list',
    {
      by: index,
      from: some(fc.integer({ min: -1, max: 2 })),
      status: some(fc.constantFrom('Pending', 'Approved', 'Cancelled', 'Completed')),
    },
    3,
  ),
  a('booking', { by: index, booking: index }, 2),
  a('reviews', { by: index, community: index }, 1),
  a('approve', { by: fc.oneof(ofCommunity, index), booking: fc.nat(3) }, 7),
  a('cancel', { by: fc.oneof(ofCommunity, ofBrands, newest, index), booking: fc.nat(3) }, 6),
  a(
    'move',
    {
      by: fc.oneof(ofCommunity, ofBrands, newest, index),
      booking: fc.nat(3),
      space: fc.oneof(fc.constant(0), fc.nat(1), index),
      days: fc.constantFrom(0, 0, 0, 1, 1, -1, 2, 400),
      hours: fc.integer({ min: -4, max: 4 }),
      price: fc.constantFrom('agreed', 'new'),
      isAgreed: fc.boolean(),
      side,
    },
    18,
  ),
  a(
    'answerMove',
    {
      by: fc.oneof(ofCommunity, ofBrands, index),
      booking: fc.nat(2),
      accepts: fc.constantFrom(true, true, false),
      side,
    },
    16,
  ),
  a('review', { by: fc.oneof(ofBrands, index), booking: index, rating: fc.integer({ min: 0, max: 6 }) }, 2),
  a(
    'close',
    { kind: fc.constantFrom('Closure', 'OwnEvent'), space: index, day, start: fc.nat(23), length: fc.nat(5) },
    3,
  ),
  a('endClosed', { closed: index }, 1),
  a(
    'terms',
    {
      space: index,
      terms: fc.oneof(
        hours,
        fc.record({ gapHours: quarters(4) }),
        fc.record({ durationHours: quarters(9) }),
        fc.record({ cancelHours: fc.nat(30) }),
      ),
    },
    1,
  ),
  a('active', { space: index, active: fc.boolean() }, 1),
  a('issueKey', { party: index, permissions: fc.integer({ min: 1, max: 31 }) }, 2),
  a('revokeKey', { key: index }, 2),
  a('registerWebhook', { by: index, events: fc.oneof(fc.integer({ min: 0, max: 31 }), fc.constant(64)) }, 2),
  a('removeWebhook', { by: index, webhook: index }, 1),
  a('webhooks', { by: index }, 1),
  a('join', { user: fc.nat(3), party: fc.constantFrom(0, 2, 0, 2, 1, 3), role }, 2),
  a('setRole', { by: index, member: index, role }, 4),
  a('removeMember', { by: index, member: index }, 3),
  a('connect', { member: index, face: fc.constantFrom('api', 'mcp') }, 3),
  a('send', { isMailAway: fc.constantFrom(true, true, false) }, 3),
  a(
    'chooseMail',
    {
      // The first and the last of the members at the beginning act for the community of the first space.
      member: fc.oneof(fc.constantFrom(0, 3), index),
      space: some(fc.oneof(fc.constant(0), index)),
      on: fc.subarray([...CHOSEN_KINDS]),
      off: fc.subarray([...CHOSEN_KINDS]),
    },
    5,
  ),
  a('unsubscribe', { mail: index }, 2),
  a('flood', { by: ofBrands, days: fc.constantFrom(2, 2, 24) }, 1),
  a('forget', { subject: index }, 1),
  a('pass', { hours: fc.constantFrom(0.5, 1, 1, 2, 2, 5, 25, 80) }, 5),
  a('runScheduler', {}, 4),
  a('restart', {}, 2),
);

/** The release before (`EARLIER`) kept no time free after an event that was over. */
export function withoutGap<T extends Partial<Terms>>({ gapHours: _, ...terms }: T): Omit<T, 'gapHours'> {
  return terms;
}

/** A date so many days after the one that the clock of a zone shows. */
export const dateIn = (zone: Zone, now: number, days: number): LocalDate => daysAfter(clockAt(zone, now).date, days);

/** Where a step moves a booking, and for which price. */
export function moveOf(
  { dto, move }: Booking,
  { days, hours, price, isAgreed }: Pick<Extract<Step, { do: 'move' }>, 'days' | 'hours' | 'price' | 'isAgreed'>,
  spaceId: number,
): { readonly to: Place; readonly price: MovePrice } {
  if (isAgreed && move !== undefined) return { to: move.to, price: move.totalPrice === undefined ? 'agreed' : 'new' };
  const startHour = Math.abs(dto.startHour + hours);
  return { to: { spaceId, date: daysAfter(dto.date, days), startHour }, price };
}

/** A request of the space and day of a booking, for so many hours after the one at which that ends by the clock. */
export function rivalOf(booking: Booking | undefined, offset: number): Request | undefined {
  if (booking === undefined) return undefined;
  const { space, dto } = booking;
  return { spaceId: space.id, date: dto.date, startHour: Math.min(23, Math.max(0, dto.endHour + offset)) };
}
