import { withChanges } from '../src/domain/changed-values.ts';
import { HOUSE_TEXTS, type HouseTexts } from '../src/domain/description.ts';
import type { CommunityDescribed } from '../src/domain/events.ts';
import type { CommunityId } from '../src/domain/ids.ts';
import type { PersonalText } from '../src/domain/personal-text.ts';
import { projection } from './projection.ts';

export type HouseTextsDocument = HouseTexts<PersonalText> & { readonly communityId: CommunityId };

/** What is written about the house of each community. Apart from the communities, because these are read with every list. */
export const houseTexts = projection<HouseTextsDocument, CommunityDescribed>({
  name: 'houseTexts',
  version: 1,
  indexes: [],
  key: ({ data }) => String(data.communityId),
  on: {
    CommunityDescribed: (before, { data }) =>
      withChanges<HouseTextsDocument>(before ?? { communityId: data.communityId }, data, HOUSE_TEXTS),
  },
});
