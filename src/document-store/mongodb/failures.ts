import {
  MongoBulkWriteError,
  MongoDriverError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';
import { Unavailable } from '../../runtime/unavailable.ts';

/** Not enough members of the replica set have acknowledged a write in time. They may still. */
const WRITE_CONCERN_TIMEOUT = 64;

/** What Node.js says of a connection that has just ended; the driver passes it on as it is when it writes to one. */
const SOCKET_ERRORS: ReadonlySet<unknown> = new Set([
  ...[
    'ECONNABORTED',
    'ECONNREFUSED',
    'ECONNRESET',
    'EHOSTDOWN',
    'EHOSTUNREACH',
    'ENETDOWN',
    'ENETRESET',
    'ENETUNREACH',
  ],
  ...['ENOTCONN', 'EPIPE', 'ETIMEDOUT'],
  ...['ERR_SOCKET_CLOSED', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_WRITE_AFTER_END'],
]);

/** The error of a bulk write wraps any other: that of the connection, or that there is no server. */
function unwrapped(error: unknown): unknown {
  const within: unknown = error instanceof MongoBulkWriteError ? error.errorResponse : undefined;
  return within instanceof Error ? within : error;
}

/** Whether it is worth trying again at once. Whether the server executed the operation is unknown. */
export function isTransient(thrown: unknown): boolean {
  const error = unwrapped(thrown);
  if (!(error instanceof Error)) return false;
  if (error instanceof MongoBulkWriteError && error.result.getWriteConcernError()?.code === WRITE_CONCERN_TIMEOUT)
    return true;
  if (error instanceof MongoServerError && error.code === WRITE_CONCERN_TIMEOUT) return true;
  if (error instanceof MongoServerSelectionError) return false;
  if ('code' in error && SOCKET_ERRORS.has(error.code)) return true;
  return (
    error instanceof MongoNetworkError ||
    (error instanceof MongoError &&
      (error.hasErrorLabel('RetryableWriteError') || error.hasErrorLabel('RetryableReadError')))
  );
}

/** Whether MongoDB is to blame for not being there, rather than what was asked of it. */
export function isAway(thrown: unknown): boolean {
  const error = unwrapped(thrown);
  return (
    isTransient(error) ||
    error instanceof MongoServerSelectionError ||
    // Not exported as a class.
    (error instanceof MongoDriverError && error.name === 'MongoWaitQueueTimeoutError')
  );
}

/** @throws {Unavailable} if MongoDB did not answer, and otherwise the error itself */
export function unavailable(error: unknown): never {
  if (isAway(error)) throw new Unavailable('MongoDB does not answer; whether a write was applied is unknown', error);
  throw error;
}
