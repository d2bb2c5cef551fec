/** Machine-readable codes of a refusal (docs/guides/rest-api.md#errors). */
export const REFUSAL_CODES = [
  'InsufficientPermissions',
  'ResourceNotFound',
  'ValidationError',
  'SlotUnavailable',
  'BookingNotAllowed',
  'ScopeViolation',
] as const;
export type RefusalCode = (typeof REFUSAL_CODES)[number];

/** Why a command is refused, where code decides by it. */
type RefusalReason =
  | 'AddressNotConfirmed'
  | 'Elsewhere'
  | 'KeyReused'
  | 'NotWaiting'
  | 'NoWeekdayInRange'
  | 'SamePlace';

/** What is wrong with a field, in words that follow its name: `must be before`, and the other field that they end with. */
type Rule = { readonly text: string; readonly other?: string };

/** A command refused by a rule: a value, not an exception. Code decides by `refused`, `reason` and `field`, never by a sentence. */
export type Refusal = {
  readonly refused: RefusalCode;
  /** Absent where no code decides by it. */
  readonly reason?: RefusalReason;
  /** The name of the field that is wrong. Absent if it is none, or several. */
  readonly field?: string;
  /** The weekday or the date whose hours are wrong. */
  readonly day?: string;
  /** Absent if `details` does not begin with the name of the field. */
  readonly rule?: Rule;
  /** A sentence for the caller, with the names of the API. */
  readonly details: string;
  /** The refusals of all broken rules, this one first. Absent if only one rule is broken. */
  readonly each?: readonly Refusal[];
  /** Seconds after which the same command may be accepted. Absent if waiting does not help. */
  readonly retryAfter?: number;
};

/** What a decider returns: the events to append (none if there is nothing left to do), or a refusal. */
export type Decision<E extends { readonly type: string }> = readonly E[] | Refusal;

export const refuse = (
  refused: RefusalCode,
  details: string,
  about: Pick<Refusal, 'reason' | 'field' | 'retryAfter'> = {},
): Refusal => ({ refused, details, ...about });

/**
 * Refuses the value of a field (`ValidationError`).
 * @param text follows the name of the field: `must be before`
 * @param other the field that the sentence ends with
 */
export function refuseField(field: string, text: string, other?: string): Refusal {
  const rule = other === undefined ? { text } : { text, other };
  return { refused: 'ValidationError', field, rule, details: ruleSentence(field, rule, (name) => name) };
}

/** The sentence of a refusal for a face that has its own names for fields. */
export const sentenceWith = ({ field, rule, details }: Refusal, nameOf: (field: string) => string): string =>
  field === undefined || rule === undefined ? details : ruleSentence(field, rule, nameOf);

const ruleSentence = (field: string, { text, other }: Rule, nameOf: (field: string) => string): string =>
  `${[nameOf(field), text, ...(other === undefined ? [] : [nameOf(other)])].join(' ')}.`;

/** The refusals of all broken rules. */
export const eachOf = (refusal: Refusal): readonly Refusal[] => refusal.each ?? [refusal];

/** The first of these refusals, with all of them; undefined if there is none. */
export function refuseFor(wrong: readonly (Refusal | undefined)[]): Refusal | undefined {
  const all = wrong.filter((one) => one !== undefined);
  const [first] = all;
  return first === undefined || all.length === 1 ? first : { ...first, each: all.flatMap(eachOf) };
}

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' && value !== null && 'refused' in value;
