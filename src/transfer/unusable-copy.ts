/** A backup or an export cannot be used, or none can be written. The message is one line that names the folder or the file. */
export class UnusableCopy extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnusableCopy';
  }
}
