import { AccessDeniedError } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { UnusableStore } from '../../runtime/unusable-store.ts';

/** The purpose of a call, and the rights that its user needs. */
export type Task = {
  /** As in "did not respond to …". */
  readonly what: string;
  /** As in "the user may not …". */
  readonly doing: string;
  /** As in "it needs …". */
  readonly needs: string;
};

export const readOf = (stream: string): Task => ({
  what: `a read of ${stream}`,
  doing: `read ${stream}`,
  needs: stream === '$all' ? 'the right to read ($r) of $all' : 'the right to read ($r) in the default user ACL',
});

export const appendTo = (stream: string): Task => ({
  what: `an append to ${stream}`,
  doing: `append to ${stream}`,
  needs: 'the right to write ($w) in the default user ACL',
});

/** @param what such as "the creation" */
export const managing = (what: string, group: string): Task => ({
  what: `${what} of consumer group ${group}`,
  doing: `manage consumer group ${group}`,
  needs: 'to be in the group $ops',
});

export const SUBSCRIBE: Task = { ...readOf('$all'), what: 'a subscription' };
export const joining = (group: string): Task => ({ ...readOf('$all'), what: `joining consumer group ${group}` });

export const unknownUser = (cause: unknown): UnusableStore =>
  new UnusableStore('EVENTSTORE_URL: EventStoreDB rejected the user or the password', cause);

/**
 * Turns a missing right into one line, which a failed start prints. Returns any other error unchanged.
 * @param isNamed whether the URL names a user
 */
export function explained(error: unknown, { doing, needs }: Task, isNamed: boolean): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === status.UNAUTHENTICATED) return unknownUser(error);
  if (!(error instanceof AccessDeniedError) && code !== status.PERMISSION_DENIED) return error;
  if (!isNamed) return new UnusableStore('EVENTSTORE_URL: EventStoreDB requires a user, but the URL names none', error);
  const missing = `the user of EventStoreDB may not ${doing}; it needs ${needs}`;
  return new UnusableStore(`EVENTSTORE_URL: ${missing} (docs/operations/servers.md, The user of EventStoreDB)`, error);
}
