import { canonicalZone, isTimeZone } from './calendar.ts';
import { type Describe, withChanges } from './changed-values.ts';
import { type Decision, isRefusal, type Refusal, refuse, refuseField, refuseFor } from './decision.ts';
import { defined } from './defined.ts';
import { HOUSE_FACTS, type HouseDescription, type HouseFacts, type HouseTexts, houseChanges } from './description.ts';
import type {
  CommunityAdded,
  CommunityChanged,
  CommunityDescribed,
  CommunityEvent,
  CommunityFacts,
  CommunityNewBrandsChanged,
  CommunityPhotosChanged,
  NewBrands,
} from './events.ts';
import type { CommunityId, PlainDate } from './ids.ts';
import { NAME, wrongText } from './limits.ts';
import { changedPhotos, evolvePhotos, MAX_PHOTOS, type PhotoChange, type Photos } from './photos.ts';

export type Community = CommunityAdded['data'] & {
  /** Where it is. Its texts are a read model of their own. */
  readonly house?: HouseFacts;
  /** For commands alone: they are a read model of their own. */
  readonly photos?: Photos;

  /** What it does with requests of new brands. Absent: it asks nothing. */
  readonly newBrands?: NewBrands;
};

/** The Pending and Approved bookings of a community. */
export type OpenBookings = { readonly count: number; readonly lastDate: PlainDate };

export function evolveCommunity(community: Community | undefined, event: CommunityEvent): Community | undefined {
  if (event.type === 'CommunityAdded') return event.data;
  if (community === undefined) return undefined;
  switch (event.type) {
    case 'CommunityChanged':
    case 'CommunityNewBrandsChanged':
      return { ...community, ...event.data };
    case 'CommunityDescribed':
      return { ...community, house: withChanges(community.house ?? {}, event.data, HOUSE_FACTS) };
    case 'CommunityPhotosChanged':
      return { ...community, photos: evolvePhotos(community.photos, event.data) };
    default:
      return event satisfies never;
  }
}

export function addCommunity(existing: Community | undefined, command: Community): Decision<CommunityAdded> {
  if (existing !== undefined) return refuse('ValidationError', `Community ${command.communityId} already exists.`);
  const wrong = refuseFor(wrongFacts(command));
  return wrong ?? [{ type: 'CommunityAdded', data: { ...command, timeZone: canonicalZone(command.timeZone) } }];
}

export type ChangeCommunity = {
  readonly communityId: CommunityId;
  readonly facts: Partial<CommunityFacts>;
  readonly seen?: CommunityFacts;
};

/**
 * Changes the name or the zone. No event if nothing differs. Open bookings keep the zone from being changed: their times were promised.
 * Closed times and own events keep their dates and hours, by the new clock.
 *
 * A page that saves both sends those that it showed (`seen`). If one has changed since, the command is refused, because it would undo a
 * change that the user has not seen.
 */
export function changeCommunity(
  community: Community | undefined,
  command: ChangeCommunity,
  open: OpenBookings | undefined,
): Decision<CommunityChanged> {
  const { communityId, facts, seen } = command;
  if (community === undefined) return refuse('ResourceNotFound', `There is no community ${communityId}.`);
  const wrong = refuseFor(wrongFacts(facts));
  if (wrong !== undefined) return wrong;
  const timeZone = facts.timeZone && canonicalZone(facts.timeZone);
  const changed = {
    name: facts.name === community.name ? undefined : facts.name,
    timeZone: timeZone === community.timeZone ? undefined : timeZone,
  };
  if (changed.name === undefined && changed.timeZone === undefined) return [];
  if (seen !== undefined && (seen.name !== community.name || seen.timeZone !== community.timeZone))
    return refuse('ValidationError', `Community ${communityId} was changed meanwhile. Look again.`);
  if (changed.timeZone !== undefined && open !== undefined)
    return refuseField(
      'timeZone',
      `cannot be changed while requests and bookings are open: ${open.count}, the last on ${open.lastDate}`,
    );
  return [{ type: 'CommunityChanged', data: { ...defined(changed), communityId } }];
}

/**
 * Describes a community: only what differs, in one event; no event if nothing does.
 * @param texts what is written about it now
 */
export function describeCommunity(
  community: Community | undefined,
  command: Describe<HouseDescription> & { readonly communityId: CommunityId },
  texts: HouseTexts,
): Decision<CommunityDescribed> {
  const { communityId } = command;
  if (community === undefined) return refuse('ResourceNotFound', `There is no community ${communityId}.`);
  const changes = houseChanges({ ...community.house, ...texts }, command);
  if (isRefusal(changes)) return changes;
  return Object.keys(changes).length === 0 ? [] : [{ type: 'CommunityDescribed', data: { ...changes, communityId } }];
}

/** Adds photos to the house of a community, or arranges them: one event with the whole list; no event if nothing differs. */
export function changeCommunityPhotos(
  community: Community | undefined,
  command: PhotoChange & { readonly communityId: CommunityId },
): Decision<CommunityPhotosChanged> {
  const { communityId } = command;
  if (community === undefined) return refuse('ResourceNotFound', `There is no community ${communityId}.`);
  const list = changedPhotos(community.photos, command, MAX_PHOTOS.house);
  if (list === undefined || isRefusal(list)) return list ?? [];
  return [{ type: 'CommunityPhotosChanged', data: { ...list, communityId } }];
}

/** Decides what happens to requests of new brands. No event if that is so. */
export function changeNewBrands(
  community: Community | undefined,
  { communityId, newBrands }: CommunityNewBrandsChanged['data'],
): Decision<CommunityNewBrandsChanged> {
  if (community === undefined) return refuse('ResourceNotFound', `There is no community ${communityId}.`);
  if ((community.newBrands ?? 'askNothing') === newBrands) return [];
  return [{ type: 'CommunityNewBrandsChanged', data: { communityId, newBrands } }];
}

const wrongFacts = ({ name, timeZone }: Partial<CommunityFacts>): readonly (Refusal | undefined)[] => [
  name === undefined ? undefined : wrongText('name', name, NAME),
  timeZone === undefined || isTimeZone(timeZone)
    ? undefined
    : refuseField('timeZone', 'must be an IANA zone such as Europe/Berlin'),
];
