/**
 * A store cannot or must not be used: its server does not answer, its file is damaged, or it does not belong to the others. The message is one line that names
 * what was found and, where there is one, the command that mends it; a start ends with nothing but that line (docs/decisions/store-identity.md).
 */
export class UnusableStore extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnusableStore';
  }
}
