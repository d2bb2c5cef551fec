import { canonicalZone, isTimeZone } from './calendar.ts';
import { type Decision, refuse } from './decision.ts';
import type { CommunityAdded } from './events.ts';
import { NAME, wrongText } from './limits.ts';

export type Community = CommunityAdded['data'];

export const evolveCommunity = (_: Community | undefined, event: CommunityAdded): Community => event.data;

export function addCommunity(existing: Community | undefined, command: Community): Decision<CommunityAdded> {
  if (existing !== undefined) return refuse('ValidationError', `Community ${command.communityId} already exists.`);
  const wrongName = wrongText('name', command.name, NAME);
  if (wrongName !== undefined) return wrongName;
  if (!isTimeZone(command.timeZone))
    return refuse('ValidationError', `timeZone must be an IANA zone such as Europe/Berlin, got "${command.timeZone}".`);
  return [{ type: 'CommunityAdded', data: { ...command, timeZone: canonicalZone(command.timeZone) } }];
}
