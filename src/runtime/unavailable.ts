/** A dependency is temporarily unavailable. Retrying later is safe. */
export class Unavailable extends Error {
  /** Shown to the client: a sentence without its full stop and without internals. */
  readonly publicMessage: string | undefined;

  constructor(message: string, cause?: unknown, publicMessage?: string) {
    super(message, { cause });
    this.name = 'Unavailable';
    this.publicMessage = publicMessage;
  }
}

/** The write timed out; its outcome is unknown (docs/decisions/rest-api.md). */
export class OutcomeUnknown extends Unavailable {
  constructor(message: string, cause?: unknown) {
    super(message, cause, 'The service did not answer in time, and whether this was done is not known');
    this.name = 'OutcomeUnknown';
  }
}

/** The event log does not answer. The errors of an outage are not logged one by one; its beginning and its end are. */
export class LogUnavailable extends Unavailable {}

/** Whether the event log's outage caused an error. */
export const isLogUnavailable = (error: unknown): boolean =>
  error instanceof LogUnavailable || (error instanceof Error && isLogUnavailable(error.cause));

/** {@link Unavailable}, or a domain error with its own public message. */
export type UnavailableError = Error & { readonly publicMessage: string | undefined };

export const isUnavailable = (error: unknown): error is UnavailableError =>
  error instanceof Error && 'publicMessage' in error;

/** The message for the client, without its full stop. */
export const publicMessageOf = (
  error: UnavailableError,
  otherwise = 'The service cannot answer this at the moment',
): string => error.publicMessage ?? otherwise;

/** The `Retry-After` of every 503 response. */
export const RETRY_AFTER_SECONDS = 2;
