import type { RefusalCode } from '../domain/decision.ts';

/** Machine-readable error codes (docs/specification.md#errors). */
export type ErrorCode = RefusalCode | 'InvalidApiKey' | 'InternalError';

export const ERROR_STATUS = {
  InvalidApiKey: 401,
  InsufficientPermissions: 403,
  ResourceNotFound: 404,
  ValidationError: 400,
  SlotUnavailable: 422,
  BookingNotAllowed: 422,
  ScopeViolation: 403,
  InternalError: 500,
} as const satisfies Record<ErrorCode, number>;

/** The one error shape. */
export type ErrorBody = { readonly error: ErrorCode; readonly details: string };
