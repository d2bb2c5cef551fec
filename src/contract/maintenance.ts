import { picked } from '../domain/picked.ts';

type FailedEvent = {
  readonly eventId: string;
  readonly type: string;
  readonly stream: string;
  readonly revision: number;
  readonly state: 'Parked' | 'Retrying';
  readonly failures: number;
  readonly reason: string;
  readonly failingSince: string;
  readonly due: string;
};

/** An event that could not be turned into deliveries, as the command line prints it with `--json`. */
export const toOperatorParkedEvent = (event: FailedEvent) => {
  const { eventId: id, type, stream, revision, state, failures, reason, failingSince, due } = event;
  return { id, type, stream, revision, state, failures, reason, failingSince, due };
};

type Verification = {
  readonly position: string;
  readonly events: number;
  readonly documents: number;
  readonly differences: readonly {
    readonly projection: string;
    readonly key: string;
    readonly expected?: unknown;
    readonly actual?: unknown;
  }[];
  readonly notVerified: readonly string[];
};

/** The result of `verify`. Prints differing documents whole, for the operator to compare. */
export const toOperatorVerification = (found: Verification) => ({
  ...picked(found, ['position', 'events', 'documents']),
  differences: found.differences.map((each) => picked(each, ['projection', 'key', 'expected', 'actual'])),
  notVerified: found.notVerified,
});

type ReadModel = {
  readonly name: string;
  readonly version: number;
  readonly state: 'live' | 'building' | 'rebuilding' | 'failing';
  /** Events folded. */
  readonly events: number;
  readonly failure?: {
    readonly message: string;
    /** Consecutive failed attempts, by any process. */
    readonly attempts: number;
    readonly event?: { readonly id: string; readonly type: string; readonly position: string };
  };
  readonly skipped: readonly {
    readonly eventId: string;
    readonly eventType: string;
    readonly reason: string;
    readonly at: string;
    readonly by: string;
  }[];
};

/** A read model as the command line prints it with `--json`. */
export const toOperatorReadModel = (readModel: ReadModel) => ({
  ...picked(readModel, ['name', 'version', 'state', 'events']),
  failure: readModel.failure && picked(readModel.failure, ['message', 'attempts', 'event']),
  skipped: readModel.skipped.map((skip) => picked(skip, ['eventId', 'eventType', 'reason', 'at', 'by'])),
});
