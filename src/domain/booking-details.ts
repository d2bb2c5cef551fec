import type { Refusal } from './decision.ts';
import type { PlainDate, SpaceId } from './ids.ts';
import { HOUR, MESSAGE, wrongNumber, wrongText } from './limits.ts';
import { picked } from './picked.ts';

/**
 * What a brand asks for. These fields flow as they are from the request through command, event and document to every public
 * shape of a booking (docs/decisions/public-shapes.md; src/README.md tells how to add one).
 */
export type BookingDetails = {
  readonly spaceId: SpaceId;
  /** On the calendar of the space's time zone. */
  readonly date: PlainDate;
  /** 0 to 23, on the clock of the space's time zone. */
  readonly startHour: number;
  /** Note to the community. */
  readonly message?: string;
};

type Field = keyof Required<BookingDetails>;

/** What each field has to be, whoever sends it. Exhaustive: a new field does not compile without its rule. */
const RULES: { readonly [F in Field]: (value: BookingDetails[F]) => Refusal | undefined } = {
  spaceId: () => undefined,
  date: () => undefined,
  startHour: (hour) => wrongNumber('startHour', hour, HOUR),
  message: (text) => wrongText('message', text, MESSAGE),
};

/** The names of all fields. */
export const BOOKING_DETAILS = Object.keys(RULES) as readonly Field[];

/** The details within something that holds more, such as an event or a request body. */
export const detailsOf = (source: BookingDetails): BookingDetails => picked(source, BOOKING_DETAILS);

/** Refuses details of which one breaks its rule (`ValidationError`). */
export function wrongDetails(details: BookingDetails): Refusal | undefined {
  const check = <F extends Field>(field: F): Refusal | undefined => RULES[field](details[field]);
  for (const field of BOOKING_DETAILS) {
    const wrong = check(field);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** The fields that every fingerprint begins with, in this order: what is stored today was made of these four. */
const ORIGINAL_FIELDS = ['spaceId', 'date', 'startHour', 'message'] as const satisfies readonly Field[];

/**
 * Equal for requests that ask for the same, whatever version of the service wrote them: a field that was added later counts only
 * where it is present (docs/decisions/idempotency-keys.md).
 */
export function fingerprintOf(details: BookingDetails): string {
  const original: readonly Field[] = ORIGINAL_FIELDS;
  const added = BOOKING_DETAILS.filter((field) => !original.includes(field) && details[field] !== undefined);
  return JSON.stringify([
    ...original.map((field) => details[field] ?? null),
    ...added.sort().map((field) => [field, details[field]]),
  ]);
}
