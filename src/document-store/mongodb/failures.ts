import {
  MongoBulkWriteError,
  MongoDriverError,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';
import { Unavailable } from '../../runtime/unavailable.ts';
import { UnusableStore } from '../../runtime/unusable-store.ts';

/** Runs an operation and repeats it after transient failures, which leave its outcome unknown. */
export type Retry = <R>(operation: () => Promise<R>) => Promise<R>;

/**
 * Codes with which a server says that it cannot answer now: it shuts down, is no longer the primary or does not reach the others.
 * https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md#determining-retryable-errors
 */
const TRANSIENT_CODES: ReadonlySet<unknown> = new Set([
  ...[6, 7, 89, 91, 134, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436],
  // Too few members of the replica set have acknowledged a write in time. They may still do so.
  64,
]);
const UNAUTHORIZED = 13;
const AUTHENTICATION_FAILED = 18;

/** Node.js errors for a write to a connection that has just ended. The driver passes them on unchanged. */
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

/** The error of a bulk write wraps connection errors and failed server selection. */
function unwrapped(error: unknown): unknown {
  const within: unknown = error instanceof MongoBulkWriteError ? error.errorResponse : undefined;
  return within instanceof Error ? within : error;
}

/** Whether to retry at once. The outcome of the operation is unknown. */
export function isTransient(thrown: unknown): boolean {
  const error = unwrapped(thrown);
  if (!(error instanceof Error)) return false;
  if (error instanceof MongoServerSelectionError) return false;
  if ('code' in error && SOCKET_ERRORS.has(error.code)) return true;
  if (error instanceof MongoServerError && codesOf(error).some((code) => TRANSIENT_CODES.has(code))) return true;
  return error instanceof MongoNetworkError || (error instanceof MongoError && error.hasErrorLabel('RetryableError'));
}

const codesOf = (error: MongoServerError): unknown[] =>
  error instanceof MongoBulkWriteError
    ? [error.code, error.result.getWriteConcernError()?.code, ...[error.writeErrors].flat().map(({ code }) => code)]
    : [error.code];

/** A failed DNS lookup of a `mongodb+srv` URL. The driver passes the error on unchanged. */
const isFailedLookup = (error: unknown): boolean =>
  error instanceof Error && 'syscall' in error && (error.syscall === 'querySrv' || error.syscall === 'queryTxt');

/** Whether the error means that MongoDB is unreachable, rather than that the request is wrong. */
export function isServerUnavailable(thrown: unknown): boolean {
  const error = unwrapped(thrown);
  return (
    isTransient(error) ||
    error instanceof MongoServerSelectionError ||
    isFailedLookup(error) ||
    // Not exported as a class.
    (error instanceof MongoDriverError && error.name === 'MongoWaitQueueTimeoutError')
  );
}

/**
 * Turns a rejected user or a missing right into one line, which a failed start prints and which ends with the server's own words;
 * returns any other error unchanged.
 */
export function explained(error: unknown): unknown {
  if (!(error instanceof MongoServerError)) return error;
  const { code } = error;
  if (code !== AUTHENTICATION_FAILED && code !== UNAUTHORIZED) return error;
  // Some servers answer a wrong password with `Unauthorized`.
  const problem =
    code === AUTHENTICATION_FAILED || error.hasErrorLabel('HandshakeError')
      ? 'MongoDB rejected the user or the password'
      : 'the user of MongoDB lacks a right: it needs readWrite on the database (docs/operations/servers.md, The URL of MongoDB)';
  return new UnusableStore(`MONGODB_URL: ${problem}: ${wordsOf(error)}`, error);
}

/** The server's message without the command that it quotes, of which only the name is kept: the rest may hold documents. */
const wordsOf = ({ message }: MongoServerError): string =>
  message
    .replace(/\{ *"?(\w*).*$/s, '$1')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 300);

/** @throws {Unavailable} if MongoDB did not answer; {UnusableStore} if the user lacks the right; otherwise the error itself */
export function unavailable(error: unknown): never {
  if (isServerUnavailable(error))
    throw new Unavailable('MongoDB does not answer; whether a write was applied is unknown', error);
  throw explained(error);
}
