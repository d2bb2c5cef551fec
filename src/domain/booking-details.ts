import { type Refusal, refuseField, refuseFor } from './decision.ts';
import type { PlainDate, SpaceId } from './ids.ts';
import { keysOf } from './keys-of.ts';
import { CAPACITY, HOUR, MESSAGE, wrongNumber, wrongText } from './limits.ts';
import type { PersonalText } from './personal-text.ts';
import { picked } from './picked.ts';

/**
 * The details that a brand requests. They flow unchanged from the request through command, event and document to every public shape of a
 * booking (docs/decisions/rest-api.md). CONTRIBUTING.md explains how to add one.
 */
export type BookingDetails = {
  readonly spaceId: SpaceId;
  /** A date in the space's time zone. */
  readonly date: PlainDate;
  /** 0 to 23, in the space's time zone. */
  readonly startHour: number;
  /** How many guests the event has. */
  readonly guests?: number;
  /** Note to the community. */
  readonly message?: string;
  /** A UUID that requests of a brand share which a community decides as one (docs/decisions/bookings.md#series). */
  readonly series?: string;
};

type Field = keyof Required<BookingDetails>;

/** Matches the id of a series. A UUID, because the log keeps it for good and a text could name a person. */
export const SERIES = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const SERIES_RULE = 'must be a UUID in lower case';

type FieldRules<F extends Field> = {
  /** Refuses a wrong value. */
  readonly wrong: (value: BookingDetails[F]) => Refusal | undefined;
  /** Whether approval, cancellation and completion repeat it. Cannot be changed later, because stored events keep their fields. */
  readonly repeated: boolean;
  /** Whether it is personal text. Events and documents hold it sealed (docs/decisions/personal-data.md). */
  readonly personal: boolean;
};

/** Exhaustive: a new field does not compile without its rules. */
const RULES = {
  spaceId: { wrong: () => undefined, repeated: true, personal: false },
  date: { wrong: () => undefined, repeated: true, personal: false },
  startHour: { wrong: (hour) => wrongNumber('startHour', hour, HOUR), repeated: true, personal: false },
  guests: {
    wrong: (guests) => (guests === undefined ? undefined : wrongNumber('guests', guests, CAPACITY)),
    repeated: false,
    personal: false,
  },
  message: { wrong: (text) => wrongText('message', text, MESSAGE), repeated: false, personal: true },
  series: {
    wrong: (series) => (series === undefined || SERIES.test(series) ? undefined : refuseField('series', SERIES_RULE)),
    repeated: false,
    personal: false,
  },
} as const satisfies { readonly [F in Field]: FieldRules<F> };

/** The fields that later events of a booking repeat, so that their readers need no look-ups. */
export type RepeatedField = { [F in Field]: (typeof RULES)[F]['repeated'] extends true ? F : never }[Field];

/** The fields that only the request has. */
export type NotRepeatedField = Exclude<Field, RepeatedField>;

export type PersonalField = { [F in Field]: (typeof RULES)[F]['personal'] extends true ? F : never }[Field];

/** The details as events and documents hold them. */
export type StoredDetails<T extends PersonalText = PersonalText> = Omit<BookingDetails, PersonalField> & {
  readonly [F in PersonalField]?: T;
};

/** The names of all fields. */
export const BOOKING_DETAILS = keysOf(RULES);
/** The names of those that later events repeat. */
export const REPEATED_DETAILS = BOOKING_DETAILS.filter((field): field is RepeatedField => RULES[field].repeated);
/** The names of those that only the request has. */
export const NOT_REPEATED = BOOKING_DETAILS.filter((field): field is NotRepeatedField => !RULES[field].repeated);
/** The names of those that only the request has, and that are no personal text. */
export const PLAIN_DETAILS = NOT_REPEATED.filter(
  (field): field is Exclude<NotRepeatedField, PersonalField> => !RULES[field].personal,
);
/** The names of those that are personal text. */
export const PERSONAL_DETAILS = BOOKING_DETAILS.filter((field): field is PersonalField => RULES[field].personal);

/** Picks the details from something that holds more, such as an event or a request body. */
export const detailsOf = (source: BookingDetails): BookingDetails => picked(source, BOOKING_DETAILS);

/** Whether the details have personal text. */
export const arePersonal = (details: StoredDetails): boolean =>
  PERSONAL_DETAILS.some((field) => details[field] !== undefined);

/** Refuses details that break their rules (`ValidationError`). */
export function wrongDetails(details: BookingDetails): Refusal | undefined {
  const rules: { readonly [F in Field]: FieldRules<F> } = RULES;
  const check = <F extends Field>(field: F): Refusal | undefined => rules[field].wrong(details[field]);
  return refuseFor(BOOKING_DETAILS.map(check));
}

/** Every fingerprint starts with these fields, in this order: stored fingerprints were made of exactly these four. */
const ORIGINAL_FIELDS = ['spaceId', 'date', 'startHour', 'message'] as const satisfies readonly Field[];

/**
 * Equal for equal requests, in every version of the service: a field added later counts only if it is present
 * (docs/decisions/event-log.md).
 */
export function fingerprintOf(details: StoredDetails): string {
  const original: readonly Field[] = ORIGINAL_FIELDS;
  const added = BOOKING_DETAILS.filter((field) => !original.includes(field) && details[field] !== undefined);
  return JSON.stringify([
    ...original.map((field) => details[field] ?? null),
    ...added.sort().map((field) => [field, details[field]]),
  ]);
}
