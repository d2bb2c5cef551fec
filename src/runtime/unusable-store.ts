/**
 * A store cannot or must not be used: its server does not answer, its file is damaged, or it does not belong to the others. The
 * message is one line that names what was found and, where there is one, the command that mends it; a start ends with nothing but
 * that line (docs/decisions/stores.md).
 */
export class UnusableStore extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnusableStore';
  }
}

/** A process has a store open that a command needs for itself alone. Nothing was changed. */
export class StoreInUse extends Error {
  constructor(place: string) {
    super(`A process has the store in ${place} open. Stop the service first.`);
    this.name = 'StoreInUse';
  }
}
