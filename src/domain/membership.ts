import { AppendOnlyMap } from './append-only-map.ts';
import type { Decision } from './decision.ts';
import type { MembershipEvent } from './events.ts';
import { streamOf } from './streams.ts';

/** The changes to the record of a user or client that are already in the log, by their ids. */
export type RecordedChanges = AppendOnlyMap<string, true>;

export const NO_CHANGES: RecordedChanges = AppendOnlyMap.empty();

export const evolveRecorded = (recorded: RecordedChanges, { data }: MembershipEvent): RecordedChanges =>
  recorded.with(data.changeId, true);

/**
 * Records a change to a user or client in the log. Never refuses: the record itself has already changed. No event if the log has
 * the change already (docs/decisions/accounts.md).
 */
export const recordChange = (recorded: RecordedChanges, change: MembershipEvent): Decision<MembershipEvent> =>
  recorded.has(change.data.changeId) ? [] : [change];

/** The stream of a change: that of the user, of the client or of the invitation. */
export function streamOfChange({ data }: MembershipEvent): string {
  if ('userId' in data) return streamOf.member(data.userId);
  return 'clientId' in data ? streamOf.oauthClient(data.clientId) : streamOf.venue_invitation(data.invitationId);
}
