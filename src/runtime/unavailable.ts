/** Something that the result depends on is temporarily unavailable. Retrying later is safe. */
export class Unavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'Unavailable';
  }
}
