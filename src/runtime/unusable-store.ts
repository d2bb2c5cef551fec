/**
 * A store cannot or must not be used: its server does not answer, its file is damaged, or it does not belong to the others. The
 * message is one line with the finding and, if there is one, the command that repairs it. It is the only output of a failed start
 * (docs/decisions/processes.md).
 */
export class UnusableStore extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'UnusableStore';
  }
}

/** A command needs exclusive access to a store that another process has open. Nothing was changed. */
export class StoreInUse extends Error {
  constructor(location: string) {
    super(`A process has the store in ${location} open. Stop the service first.`);
    this.name = 'StoreInUse';
  }
}
