import type { Decision } from './decision.ts';
import type { MembershipEvent } from './events.ts';
import { streamOf } from './streams.ts';

/** The changes to the record of a user or client that the log tells of already, by their ids. */
export type RecordedChanges = ReadonlySet<string>;

export const evolveRecorded = (recorded: RecordedChanges, { data }: MembershipEvent): RecordedChanges =>
  new Set(recorded).add(data.changeId);

/**
 * Decides that the log tells of a change to the record of a user or client. The record is what counts, and it has changed: nothing
 * is refused. No event if the log tells of it already (docs/decisions/accounts.md).
 */
export const recordChange = (recorded: RecordedChanges, change: MembershipEvent): Decision<MembershipEvent> =>
  recorded.has(change.data.changeId) ? [] : [change];

/** The stream that tells of a change: that of the user, or of the client. */
export const streamOfChange = ({ data }: MembershipEvent): string =>
  'userId' in data ? streamOf.member(data.userId) : streamOf.oauthClient(data.clientId);
