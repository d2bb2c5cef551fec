import { type Refusal, refuseField } from './decision.ts';
import { textRule } from './unicode.ts';

/**
 * The lengths, ranges and amounts that the rules allow. Deciders, schemas, forms and the command line all use these, so that they accept
 * the same values (docs/decisions/rest-api.md).
 */

/** How many characters (code points) a text may have. Unless `min` is 0, one of them must be visible. */
export type TextLimit = { readonly min: number; readonly max: number };

/** Both ends inclusive; every value is a multiple of `step`. */
export type NumberLimit = { readonly min: number; readonly max: number; readonly step: number };

/** The name of a community, a brand, a space, or an app that registers itself. */
export const NAME: TextLimit = { min: 1, max: 200 };
/** Text that names are searched for. */
export const SEARCH: TextLimit = { min: 0, max: NAME.max };
/** The label of an API key, or the name of an account's own OAuth client. */
export const LABEL: TextLimit = { min: 1, max: 100 };
/** The note that comes with a booking request (docs/guides/rest-api.md#limits). */
export const MESSAGE: TextLimit = { min: 0, max: 500 };
/** What a brand and a community write to each other, about a booking or a space. */
export const THREAD_MESSAGE: TextLimit = { min: 1, max: 4_000 };
/** What a community writes down about a booking, for itself. */
export const BOOKING_NOTE: TextLimit = { min: 1, max: 2_000 };
/** Messages of a booking, and as many notes; and those of a brand and a community about a space. */
export const MAX_MESSAGES = 500;
/** Why a booking was cancelled, or a webhook disabled. */
export const REASON: TextLimit = { min: 0, max: 500 };
/** What a closed time, or an event of a community itself, is called. */
export const CLOSURE_TITLE: TextLimit = { min: 0, max: 200 };
/** Why a read model leaves out an event. */
export const SKIP_REASON: TextLimit = { min: 1, max: 500 };
/** Limited because the log keeps it for good. */
export const IDEMPOTENCY_KEY: TextLimit = { min: 1, max: 255 };
export const REVIEW_TITLE: TextLimit = { min: 1, max: 200 };
export const REVIEW_CONTENT: TextLimit = { min: 1, max: 5_000 };
/** What a community answers to a review. */
export const REVIEW_ANSWER: TextLimit = { min: 1, max: 2_000 };
export const WEBHOOK_URL: TextLimit = { min: 1, max: 2_048 };
/** A user's e-mail address: the longest that SMTP can deliver to (RFC 5321, 4.5.3.1.3, without the angle brackets). */
export const EMAIL: TextLimit = { min: 1, max: 254 };
/** A user's password. There is a maximum so that hashing one cannot be made expensive. */
export const PASSWORD: TextLimit = { min: 10, max: 256 };
/** The `maxlength` of its field: browsers count UTF-16 code units, of which a character (code point) has up to two. */
export const MAX_TYPED_PASSWORD = 2 * PASSWORD.max;

/** An hour of the day on the 24-hour clock. */
export const HOUR: NumberLimit = { min: 0, max: 23, step: 1 };
/** The length of an event, in hours. */
export const DURATION_HOURS: NumberLimit = { min: 0.25, max: 23, step: 0.25 };
/** How long a request may wait for an answer, in hours: from an hour to 90 days. */
export const ANSWER_HOURS: NumberLimit = { min: 1, max: 90 * 24, step: 1 };
/** The default answer time of a space (docs/decisions/bookings.md). */
export const DEFAULT_ANSWER_HOURS = 72;
/** How many years ahead bookings are taken (docs/decisions/bookings.md). */
export const MAX_YEARS_AHEAD = 5;
/** Hours to keep free before and after each booking. */
export const GAP_HOURS: NumberLimit = { min: 0, max: 4, step: 0.25 };
/** How long before its start an event must be requested, in hours. */
export const NOTICE_HOURS: NumberLimit = { min: 0, max: 90 * 24, step: 1 };
/** Dates to come that may have hours of their own, for each space. */
export const MAX_SPECIAL_DATES = 400;
/** Calendar feeds that a user may have, in all accounts together. */
export const MAX_FEEDS = 10;
/** Spaces on the shortlist of a user. */
export const MAX_SHORTLIST = 50;
/** Spaces that are compared side by side. */
export const MAX_COMPARED = 4;
/** Closed times and own events of a space on one day. */
export const MAX_CLOSED_TIMES = 50;
/** Open invitations that an account may have. */
export const MAX_INVITATIONS = 20;
/** Days of spaces that one closed time may have: an event is appended for each. */
export const MAX_SPACE_DAYS = 2_000;
/** How many days ahead bookings are taken. */
export const HORIZON_DAYS: NumberLimit = { min: 1, max: 365 * MAX_YEARS_AHEAD, step: 1 };
/** Until how long before the start a brand may cancel, in hours. */
export const CANCEL_HOURS: NumberLimit = { min: 0, max: 90 * 24, step: 1 };
/** The flat fee of an event, in cents. */
export const EVENT_FEE: NumberLimit = { min: 0, max: 100_000_000_00, step: 1 };
/** What is written about a space or a community, in Markdown. */
export const ABOUT: TextLimit = { min: 0, max: 5_000 };
/** House rules, how to get in or there, whom to ask. */
export const PRACTICAL_TEXT: TextLimit = { min: 0, max: 2_000 };
/** An amenity in a community's own words. */
export const OWN_AMENITY: TextLimit = { min: 1, max: 60 };
export const MAX_OWN_AMENITIES = 10;
export const MAX_LANGUAGES = 20;
/** Websites that embed the calendars of a community. */
export const MAX_SITES = 10;
/** Groups of spaces in a community. */
export const MAX_GROUPS = 50;
/** A part of a postal address. */
export const ADDRESS_LINE: TextLimit = { min: 1, max: 200 };
export const WEBSITE: TextLimit = { min: 1, max: 2_048 };
/** How many guests a space takes, or an event has. */
export const CAPACITY: NumberLimit = { min: 1, max: 100_000, step: 1 };
/** In m². */
export const AREA: NumberLimit = { min: 1, max: 1_000_000, step: 1 };
/** What a photo shows. */
export const PHOTO_ALT: TextLimit = { min: 0, max: 300 };

/** What was agreed with a customer, off the fee of a space. */
export const DISCOUNT_PERCENT: NumberLimit = { min: 1, max: 100, step: 1 };
/** Spaces with a fee that was agreed with a customer. */
export const MAX_AGREED_FEES = 100;
/** Who calls for a customer, and how to reach them. */
export const CUSTOMER_CONTACT: TextLimit = { min: 0, max: 500 };
/** What a community writes down about a customer. */
export const CUSTOMER_NOTE: TextLimit = { min: 0, max: 2_000 };

/** How many months ahead people without an account may look for free days. The form of the search offers as many to all. */
export const SEARCHED_MONTHS_AHEAD = 18;
/** Dates that one search for spaces may have. */
export const MAX_SEARCH_DATES = 50;
/** How far around a place a search for spaces may reach, in kilometres. */
export const WITHIN_KM: NumberLimit = { min: 1, max: 1_000, step: 1 };
/** Stars of a review. */
export const RATING: NumberLimit = { min: 1, max: 5, step: 1 };

/** Flags by name: different powers of two. A mask is the sum of some of them. */
export type Flags = { readonly [name: string]: number };

/** Matches a visible character: neither white space nor a formatting character. U+2800 is the Braille pattern without dots. */
const VISIBLE = /[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/v;

/** Whether a text keeps the rule for all texts and has the right length. An emoji counts once rather than twice. */
export function hasLength(text: string, { min, max }: TextLimit): boolean {
  if (textRule(text) !== undefined) return false;
  if (min > 0 && !VISIBLE.test(text)) return false;
  // A code point has at most two code units, so a longer text need not be counted.
  if (text.length > 2 * max) return false;
  const characters = Array.from(text).length;
  return characters >= min && characters <= max;
}

/** Phrased to follow the name of a field, as are the other rules. */
export const lengthRule = ({ min, max }: TextLimit): string =>
  `must have ${min === 0 ? 'at most' : `${min} to`} ${max} characters`;

/** The rule for all texts, or about its length, that a text breaks; undefined if it keeps both. */
export const brokenTextRule = (text: string, limit: TextLimit): string | undefined =>
  hasLength(text, limit) ? undefined : (textRule(text) ?? lengthRule(limit));

/** Refuses a text that breaks the rule for all texts or has the wrong length (`ValidationError`), naming its field. An absent text counts as empty. */
export function wrongText(field: string, text: string | undefined, limit: TextLimit): Refusal | undefined {
  const rule = brokenTextRule(text ?? '', limit);
  return rule === undefined ? undefined : refuseField(field, rule);
}

export const isWithin = (value: number, { min, max, step }: NumberLimit): boolean =>
  value >= min && value <= max && Number.isSafeInteger(value / step);

export const rangeRule = ({ min, max, step }: NumberLimit): string =>
  `must be ${step === 1 ? `a whole number, ${min} to ${max}` : `${min} to ${max}, in steps of ${step}`}`;

/** Refuses a number outside its range (`ValidationError`), naming its field. */
export const wrongNumber = (field: string, value: number, limit: NumberLimit): Refusal | undefined =>
  isWithin(value, limit) ? undefined : refuseField(field, rangeRule(limit));

/** The mask of all flags. */
export const sumOf = (flags: Flags): number => Object.values(flags).reduce((mask, flag) => mask | flag, 0);

/** The flags with their values: `1 ReadAvailability, 2 ReadBookings`. */
export const listOf = (flags: Flags): string =>
  Object.entries(flags)
    .map(([name, flag]) => `${flag} ${name}`)
    .join(', ');

export const maskRule = (flags: Flags): string => `must be a sum of these values: ${listOf(flags)}`;

/** Refuses a mask that is empty or has unknown bits (`ValidationError`), naming its field and the flags. */
export const wrongMask = (field: string, mask: number, flags: Flags): Refusal | undefined =>
  Number.isInteger(mask) && mask >= 1 && mask <= sumOf(flags) ? undefined : refuseField(field, maskRule(flags));
