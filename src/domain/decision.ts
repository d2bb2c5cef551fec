/** Machine-readable codes of a refusal (docs/specification.md#errors). */
export type RefusalCode =
  | 'InsufficientPermissions'
  | 'ResourceNotFound'
  | 'ValidationError'
  | 'SlotUnavailable'
  | 'BookingNotAllowed'
  | 'ScopeViolation';

/** A command refused by a rule: a value, not an exception. `details` is a sentence for the caller. */
export type Refusal = { readonly refused: RefusalCode; readonly details: string };

/** What a decider returns: the events to append (none if there is nothing left to do), or a refusal. */
export type Decision<E extends { readonly type: string }> = readonly E[] | Refusal;

export const refuse = (refused: RefusalCode, details: string): Refusal => ({ refused, details });

export const isRefusal = (value: unknown): value is Refusal =>
  typeof value === 'object' && value !== null && 'refused' in value;
