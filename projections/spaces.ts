import type { Recorded, SpaceChanged, SpaceDescribed, SpaceEvent, SpacePhotosChanged } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { evolveSpace, type Space } from '../src/domain/space.ts';
import { projection } from './projection.ts';

/** A space with its current terms. */
export type SpaceDocument = Space & {
  /** What it was called before, latest first: bookings keep the name that they were made under. */
  readonly formerNames?: readonly string[];
  /** When its name was changed last. */
  readonly renamedAt?: Timestamp;
  /** Marks those that people without an account see. */
  readonly isPublished?: 'yes';
};

/** A document must not grow without end. */
const MAX_FORMER_NAMES = 100;

const evolve = (space: SpaceDocument | undefined, event: Exclude<SpaceEvent, SpaceChanged | SpaceDescribed>) =>
  evolveSpace(space, event);

function described(space: SpaceDocument | undefined, event: Recorded<SpaceDescribed>): SpaceDocument | undefined {
  const next: SpaceDocument | undefined = evolveSpace(space, event);
  if (next === undefined) return undefined;
  const { isPublished: _, ...others } = next;
  return next.facts?.published === true ? { ...others, isPublished: 'yes' } : others;
}

function changed(space: SpaceDocument | undefined, event: Recorded<SpaceChanged>): SpaceDocument | undefined {
  const next = evolveSpace(space, event);
  if (space === undefined || next === undefined || next.name === space.name) return next;
  const former = new Set([space.name, ...(space.formerNames ?? [])]);
  former.delete(next.name);
  return { ...next, formerNames: [...former].slice(0, MAX_FORMER_NAMES), renamedAt: event.metadata.at };
}

/** Every space with its current terms and its former names. */
export const spaces = projection<SpaceDocument, Exclude<SpaceEvent, SpacePhotosChanged>>({
  name: 'spaces',
  version: 7,
  indexes: [
    { fields: ['communityId', 'spaceId'] },
    { fields: ['spaceId'] },
    // Published ones. Indexes of the same fields, one of them partial, would have the same name on MongoDB.
    { fields: ['isPublished', 'communityId', 'spaceId'] },
    { fields: ['isPublished', 'spaceId'] },
  ],
  key: (event) => String(event.data.spaceId),
  on: {
    SpaceAdded: evolve,
    SpaceChanged: changed,
    SpaceClosed: evolve,
    SpaceOpened: evolve,
    SpaceDescribed: described,
  },
});
