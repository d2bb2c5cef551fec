import { type Decision, type Refusal, refuse } from './decision.ts';
import type { SpaceAdded, SpaceChanged, SpaceClosed, SpaceEvent, SpaceOpened, SpaceTerms } from './events.ts';
import type { CommunityId, SpaceId } from './ids.ts';
import { isLongerThan } from './text-length.ts';

/** A space with its terms, folded. */
export type Space = SpaceTerms & {
  readonly spaceId: SpaceId;
  readonly communityId: CommunityId;
  /** IANA zone of its community. */
  readonly timeZone: string;
  /** Only an active space takes bookings. */
  readonly active: boolean;
};

export function evolveSpace(space: Space | undefined, event: SpaceEvent): Space | undefined {
  if (event.type === 'SpaceAdded') return { ...event.data, active: true };
  if (space === undefined) return undefined;
  switch (event.type) {
    case 'SpaceChanged':
      return { ...space, ...event.data };
    case 'SpaceClosed':
      return { ...space, active: false };
    case 'SpaceOpened':
      return { ...space, active: true };
    default:
      return event satisfies never;
  }
}

export function addSpace(existing: Space | undefined, command: SpaceAdded['data']): Decision<SpaceAdded> {
  if (existing !== undefined) return refuse('ValidationError', `Space ${command.spaceId} exists already.`);
  return wrongTerms(command) ?? [{ type: 'SpaceAdded', data: command }];
}

/** Changes what is named; terms of bookings already requested stay as they were. No event when nothing differs. */
export function changeSpace(
  space: Space | undefined,
  command: { readonly spaceId: SpaceId; readonly terms: Partial<SpaceTerms> },
): Decision<SpaceChanged> {
  if (space === undefined) return unknownSpace(command.spaceId);
  const changed = Object.fromEntries(
    Object.entries(command.terms).filter(
      ([term, value]) => value !== undefined && value !== space[term as keyof SpaceTerms],
    ),
  );
  if (Object.keys(changed).length === 0) return [];
  const { spaceId, communityId } = space;
  return wrongTerms({ ...space, ...changed }) ?? [{ type: 'SpaceChanged', data: { ...changed, spaceId, communityId } }];
}

/** A closed space takes no new bookings; the ones it has stay. */
export function closeSpace(space: Space | undefined, command: { readonly spaceId: SpaceId }): Decision<SpaceClosed> {
  if (space === undefined) return unknownSpace(command.spaceId);
  if (!space.active) return [];
  return [{ type: 'SpaceClosed', data: { spaceId: space.spaceId, communityId: space.communityId } }];
}

export function openSpace(space: Space | undefined, command: { readonly spaceId: SpaceId }): Decision<SpaceOpened> {
  if (space === undefined) return unknownSpace(command.spaceId);
  if (space.active) return [];
  return [{ type: 'SpaceOpened', data: { spaceId: space.spaceId, communityId: space.communityId } }];
}

const unknownSpace = (id: SpaceId) => refuse('ResourceNotFound', `There is no space ${id}.`);

const isHour = (value: number) => Number.isInteger(value) && value >= 0 && value <= 23;

function wrongTerms(terms: SpaceTerms): Refusal | undefined {
  const wrong = (details: string) => refuse('ValidationError', details);
  if (terms.name.trim() === '' || isLongerThan(terms.name, 200)) return wrong('name must have 1 to 200 characters.');
  if (!isHour(terms.windowStart)) return wrong('windowStart must be a whole hour, 0 to 23.');
  if (!isHour(terms.windowEnd)) return wrong('windowEnd must be a whole hour, 0 to 23.');
  if (terms.windowStart >= terms.windowEnd) return wrong('windowStart must be before windowEnd.');
  if (!(terms.durationHours > 0 && terms.durationHours <= 23 && Number.isInteger(terms.durationHours * 4)))
    return wrong('durationHours must be above 0, at most 23, in quarters of an hour.');
  if (!Number.isSafeInteger(terms.eventFee) || terms.eventFee < 0 || terms.eventFee > 100_000_000_00)
    return wrong('eventFee must be 0 to 100,000,000.00, with at most two decimals.');
  if (!(terms.answerHours > 0 && terms.answerHours <= 24 * 90))
    return wrong('answerHours must be above 0, at most 2160.');
  return undefined;
}
