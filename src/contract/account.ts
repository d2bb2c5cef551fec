import type { BrandDocument } from '../../projections/brands.ts';
import type { Account } from '../domain/account.ts';
import type { Community } from '../domain/community.ts';
import { defined } from '../domain/defined.ts';
import type { PublicAccount } from './schemas/account.ts';

export const toPublicAccount = ({ kind, id }: Account): PublicAccount => ({ kind, id });

/** A community as the command line prints it with `--json`. */
export const toOperatorCommunity = ({ communityId: id, name, timeZone, newBrands }: Community) => ({
  id,
  name,
  timeZone,
  ...defined({ newBrands: newBrands === 'wait' ? newBrands : undefined }),
});

/** A brand as the command line prints it with `--json`. */
export const toOperatorBrand = ({ brandId: id, name, suspendedAt }: BrandDocument) => ({
  id,
  name,
  ...defined({ suspendedAt }),
});
