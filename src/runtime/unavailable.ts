/** Something that an answer depends on cannot be had at present. Trying again later is safe. */
export class Unavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'Unavailable';
  }
}
