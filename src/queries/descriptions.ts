import { houseTexts } from '../../projections/house-texts.ts';
import { spaceTexts } from '../../projections/space-texts.ts';
import type { Community } from '../domain/community.ts';
import { HOUSE_TEXTS, type HouseDescription, SPACE_TEXTS, type SpaceDescription } from '../domain/description.ts';
import { picked } from '../domain/picked.ts';
import type { NamedSpace, Space } from '../domain/space.ts';
import type { QueryDeps } from './query-deps.ts';

/** What communities say of their spaces and of themselves, for all who may see these. */
export function createDescriptionQueries({ readModels, personalData }: QueryDeps) {
  async function ofSpace({ spaceId, facts }: Space): Promise<SpaceDescription> {
    const stored = await readModels.collection(spaceTexts).get(String(spaceId));
    const [texts] = await personalData.openSpaceTexts(stored === undefined ? [] : [stored]);
    return { ...facts, ...(texts && picked(texts, SPACE_TEXTS)) };
  }

  async function ofHouse({ communityId, house }: Pick<Community, 'communityId' | 'house'>): Promise<HouseDescription> {
    const stored = await readModels.collection(houseTexts).get(String(communityId));
    const [texts] = await personalData.openHouseTexts(stored === undefined ? [] : [stored]);
    return { ...house, ...(texts && picked(texts, HOUSE_TEXTS)) };
  }

  return {
    ofSpace,
    ofHouse,

    /** Of a space, and of the house that it is in. */
    async ofNamed({ space, house }: Pick<NamedSpace, 'space' | 'house'>) {
      const { communityId } = space;
      const [ofTheSpace, ofTheHouse] = await Promise.all([
        ofSpace(space),
        ofHouse({ communityId, ...(house && { house }) }),
      ]);
      return { space: ofTheSpace, house: ofTheHouse };
    },
  };
}
