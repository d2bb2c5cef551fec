/** Something that the result depends on is temporarily unavailable. Retrying later is safe. */
export class Unavailable extends Error {
  /** what a caller may read of it: a sentence without its full stop and without internals. */
  readonly publicMessage: string | undefined;

  constructor(message: string, cause?: unknown, publicMessage?: string) {
    super(message, { cause });
    this.name = 'Unavailable';
    this.publicMessage = publicMessage;
  }
}

/**
 * A change was asked for and nobody answered: whether it was made, or will still be made, is unknown
 * (docs/decisions/rest-api.md).
 */
export class OutcomeUnknown extends Unavailable {
  constructor(message: string, cause?: unknown) {
    super(message, cause, 'The service did not answer in time, and whether this was done is not known');
    this.name = 'OutcomeUnknown';
  }
}

/** The event log does not answer. The service reports that once, when an outage begins and when it ends. */
export class LogAway extends Unavailable {}

/** Whether something failed because the event log does not answer. */
export const isLogAway = (error: unknown): boolean =>
  error instanceof LogAway || (error instanceof Error && isLogAway(error.cause));

/** {@link Unavailable}, or an error of the rules that says of itself what a caller may be told. */
export type UnavailableError = Error & { readonly publicMessage: string | undefined };

export const isUnavailable = (error: unknown): error is UnavailableError =>
  error instanceof Error && 'publicMessage' in error;

/** What a caller is told of it, where nothing better is known: a sentence without its full stop. */
export const publicMessageOf = (
  error: UnavailableError,
  otherwise = 'The service cannot answer this at the moment',
): string => error.publicMessage ?? otherwise;

/** The `Retry-After` of every answer that something is unavailable. */
export const RETRY_AFTER_SECONDS = 2;
