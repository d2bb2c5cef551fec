import { withChanges } from '../src/domain/changed-values.ts';
import { SPACE_TEXTS, type SpaceTexts } from '../src/domain/description.ts';
import type { SpaceDescribed } from '../src/domain/events.ts';
import type { SpaceId } from '../src/domain/ids.ts';
import type { PersonalText } from '../src/domain/personal-text.ts';
import { projection } from './projection.ts';

export type SpaceTextsDocument = SpaceTexts<PersonalText> & { readonly spaceId: SpaceId };

/** What is written about each space. Apart from the spaces, because these are read with every request. */
export const spaceTexts = projection<SpaceTextsDocument, SpaceDescribed>({
  name: 'spaceTexts',
  version: 1,
  indexes: [],
  key: ({ data }) => String(data.spaceId),
  on: {
    SpaceDescribed: (before, { data }) =>
      withChanges<SpaceTextsDocument>(before ?? { spaceId: data.spaceId }, data, SPACE_TEXTS),
  },
});
