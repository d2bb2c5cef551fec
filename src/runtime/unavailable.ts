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
