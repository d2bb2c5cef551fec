import { type Static, Type } from 'typebox';
import type { RefusalCode } from '../../domain/decision.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { OneOf } from './scalars.ts';

/** The status of each error code (docs/guides/rest-api.md#errors). */
export const ERROR_STATUS = {
  InvalidApiKey: 401,
  InsufficientPermissions: 403,
  ResourceNotFound: 404,
  ValidationError: 400,
  SlotUnavailable: 422,
  BookingNotAllowed: 422,
  ScopeViolation: 403,
  InternalError: 500,
} as const satisfies { readonly [C in RefusalCode | 'InvalidApiKey' | 'InternalError']: number };

/** Machine-readable error codes. */
export type ErrorCode = keyof typeof ERROR_STATUS;

/** The only error shape. */
const ErrorBody = Type.Object(
  {
    error: OneOf(keysOf(ERROR_STATUS), { title: 'ErrorCode', description: 'Machine-readable code.' }),
    details: Type.String({
      description: 'What is wrong and what to do, for people. The wording may change.',
      // Kiota makes it the message of the exception.
      'x-ms-primary-error-message': true,
    }),
  },
  { title: 'Error', description: 'Why a call failed. Check the status first, then `error`.' },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** The error responses of an operation: these, and those of every operation. */
export const errors = (...statuses: (typeof ERROR_STATUS)[ErrorCode][]) =>
  Object.fromEntries([...statuses, 400, 401, 403, 500].map((status) => [status, ErrorBody]));
