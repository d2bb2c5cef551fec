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

/** A command refused by a rule: a value, not an exception. */
export type Refusal = {
  readonly refused: RefusalCode;
  /** A sentence for the caller. */
  readonly details: string;
  /** The sentences of all broken rules, including `details`. Absent if only one rule is broken. */
  readonly each?: readonly string[];
  /** Seconds after which the same command may be accepted. Absent if waiting does not help. */
  readonly retryAfter?: number;
};

/** What a decider returns: the events to append (none if there is nothing left to do), or a refusal. */
export type Decision<E extends { readonly type: string }> = readonly E[] | Refusal;

export const refuse = (refused: RefusalCode, details: string): Refusal => ({ refused, details });

/** The first of these refusals, with the sentences of the others; undefined if there is none. */
export function refuseFor(wrong: readonly (Refusal | undefined)[]): Refusal | undefined {
  const all = wrong.filter((one) => one !== undefined);
  const [first] = all;
  return first === undefined || all.length === 1
    ? first
    : { ...first, each: all.flatMap(({ details, each = [details] }) => each) };
}

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' && value !== null && 'refused' in value;
