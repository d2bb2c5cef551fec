/** Receives what a process does, to count it. Every value has few possible values: none is a URL, an id or an account. */
export type Metrics = {
  /** A request ended. @param route its pattern */
  request(ended: {
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly seconds: number;
  }): void;
  /** A command was decided. @param streamKind such as `spaceDay` */
  command(streamKind: string, outcome: string): void;
  /** Another writer appended to the stream of a command first. */
  appendConflict(streamKind: string): void;
  /** A delivery was POSTed. */
  deliveryAttempt(outcome: string): void;
  /** A mail was due. */
  mail(outcome: string): void;
  signIn(outcome: string): void;
  /** A request came without a valid key or token. */
  refusedCredential(reason: string): void;
};

/** For a process without a metrics port. */
export const NO_METRICS: Metrics = {
  request() {},
  command() {},
  appendConflict() {},
  deliveryAttempt() {},
  mail() {},
  signIn() {},
  refusedCredential() {},
};
