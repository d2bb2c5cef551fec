import type { SpaceEvent } from '../src/domain/events.ts';
import { evolveSpace, type Space } from '../src/domain/space.ts';
import { projection } from './projection.ts';

const evolve = (space: Space | undefined, event: SpaceEvent) => evolveSpace(space, event);

/** Every space with its current terms. */
export const spaces = projection<Space, SpaceEvent>({
  name: 'spaces',
  version: 2,
  indexes: [{ fields: ['communityId', 'spaceId'] }, { fields: ['spaceId'] }],
  key: (event) => String(event.data.spaceId),
  on: { SpaceAdded: evolve, SpaceChanged: evolve, SpaceClosed: evolve, SpaceOpened: evolve },
});
