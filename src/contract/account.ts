import type { Account, AccountKind } from '../domain/account.ts';
import type { Brand } from '../domain/brand.ts';
import type { Community } from '../domain/community.ts';
import type { BrandId, CommunityId } from '../domain/ids.ts';
import { Id, OneOf } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** A community or a brand, by its kind and id. */
export const PublicAccount = Type.Object(
  {
    kind: OneOf<AccountKind>(['Community', 'Brand']),
    id: Id('Account identifier.'),
  },
  { title: 'Account', description: 'A community or a brand.' },
);

const account = shaped(PublicAccount);
export const toPublicAccount = ({ kind, id }: Account): Static<typeof PublicAccount> => account({ kind, id });

/** A community as an operator sees it: the command line's JSON. */
export const OperatorCommunity = Type.Object({
  id: Id<CommunityId>('Community identifier.'),
  name: Type.String(),
  timeZone: Type.String({ description: 'IANA time zone of its spaces.' }),
});

const operatorCommunity = shaped(OperatorCommunity);
export const toOperatorCommunity = (community: Community): Static<typeof OperatorCommunity> =>
  operatorCommunity({ ...community, id: community.communityId });

/** A brand as an operator sees it: the command line's JSON. */
export const OperatorBrand = Type.Object({ id: Id<BrandId>('Brand identifier.'), name: Type.String() });

const operatorBrand = shaped(OperatorBrand);
export const toOperatorBrand = (brand: Brand): Static<typeof OperatorBrand> =>
  operatorBrand({ ...brand, id: brand.brandId });
