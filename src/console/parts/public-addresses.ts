import type { Community } from '../../domain/community.ts';
import type { Space } from '../../domain/space.ts';
import { idOf } from './typed-form.ts';

/** Characters of a name in an address. */
const MOST_OF_NAME = 60;

/** The public page of a house, without the origin. */
export const housePath = ({ communityId, name }: Pick<Community, 'communityId' | 'name'>): string =>
  `/h/${withName(communityId, name)}`;

/** The public page of a space. */
export const roomPath = (community: Parameters<typeof housePath>[0], { spaceId, name }: Space): string =>
  `${housePath(community)}/${withName(spaceId, name)}`;

/** The page that websites embed. */
export const embedPath = ({ spaceId }: Space): string => `/embed/${spaceId}`;

/** The id in a part of such an address. The name behind it is for people: the page leads to the current one. */
export const idIn = (part: string | undefined): number | undefined => idOf(part?.split('-')[0]);

/** Such as `7-cafe-zur-post`. Letters of other alphabets than ours are left out. */
function withName(id: number, name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .match(/[a-z0-9]+/g);
  return [id, ...(words ?? [])].join('-').slice(0, MOST_OF_NAME).replace(/-$/, '');
}
