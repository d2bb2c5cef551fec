/** Something that the result depends on is temporarily unavailable. Retrying later is safe. */
export class Unavailable extends Error {
  /** What a caller may be told of it: a sentence without its full stop and without internals. */
  readonly told: string | undefined;

  constructor(message: string, cause?: unknown, told?: string) {
    super(message, { cause });
    this.name = 'Unavailable';
    this.told = told;
  }
}

/**
 * A change was asked for and nobody answered: whether it was made, or will still be made, is unknown
 * (docs/decisions/deadlines.md).
 */
export class OutcomeUnknown extends Unavailable {
  constructor(message: string, cause?: unknown) {
    super(message, cause, 'The service did not answer in time, and whether this was done is not known');
    this.name = 'OutcomeUnknown';
  }
}

/** Whether an error is {@link Unavailable}, or one of the rules that says of itself what a caller may be told. */
export const isUnavailable = (error: unknown): error is Error & { readonly told: string | undefined } =>
  error instanceof Error && 'told' in error;
