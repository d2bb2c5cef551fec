import type { RefusalCode } from '../domain/decision.ts';
import { keysOf } from '../domain/keys-of.ts';
import { OneOf } from './scalars.ts';
import { type Static, Type } from './schema.ts';

/** The status of each error code (docs/specification.md#errors). */
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
export const ErrorBody = Type.Object(
  {
    error: OneOf(keysOf(ERROR_STATUS), 'Machine-readable code.'),
    details: Type.String({ description: 'Extra context.' }),
  },
  { title: 'Error' },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** The error responses of an operation, for the OpenAPI description. */
export const errors = (...statuses: (400 | 401 | 403 | 404 | 422 | 500)[]) =>
  Object.fromEntries(statuses.map((status) => [status, { description: describe(status), ...ErrorBody }]));

const describe = (status: number): string =>
  Object.entries(ERROR_STATUS)
    .filter(([, code]) => code === status)
    .map(([error]) => error)
    .join(' or ');
