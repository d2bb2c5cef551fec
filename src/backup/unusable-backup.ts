/** A folder holds no backup that can be restored, or none that can be written. The message is one line that names it. */
export class UnusableBackup extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnusableBackup';
  }
}
