import {
  CancelledError,
  DeadlineExceededError,
  isCommandError,
  NotLeaderError,
  TimeoutError,
  UnavailableError,
  UnknownError,
} from '@eventstore/db-client';
import { UnusableStore } from '../../runtime/unusable-store.ts';
import { addressOf } from './gossip.ts';
import { StoreClosed } from './leader.ts';
import type { Endpoint } from './settings.ts';

/** The server did not respond within the deadline. The outcome of the request is unknown. */
export class NoResponse extends Error {
  constructor(what: string, milliseconds: number) {
    super(`EventStoreDB did not respond to ${what} within ${Math.round(milliseconds)} ms`);
    this.name = 'NoResponse';
  }
}

/** The node is no longer the leader and will not answer. The outcome of the request is unknown. */
export class LeaderChanged extends Error {
  constructor(node: Endpoint) {
    super(`EventStoreDB has elected another leader; ${addressOf(node)} does not answer any more`);
    this.name = 'LeaderChanged';
  }
}

/** Whether the same call may succeed when retried. */
export function isTransient(error: unknown): error is Error {
  return (
    error instanceof UnavailableError ||
    error instanceof CancelledError ||
    error instanceof DeadlineExceededError ||
    error instanceof TimeoutError ||
    error instanceof NotLeaderError ||
    error instanceof UnknownError ||
    error instanceof NoResponse ||
    // Not a response from the server: a failed discovery, a broken socket.
    (error instanceof Error &&
      !isCommandError(error) &&
      !(error instanceof TypeError) &&
      !(error instanceof UnusableStore) &&
      !(error instanceof StoreClosed))
  );
}
