import { CommanderError } from '@commander-js/extra-typings';
import { brands } from '../../projections/brands.ts';
import { communities } from '../../projections/communities.ts';
import type { Core } from '../app.ts';
import type { Account } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { brandId, communityId } from '../domain/ids.ts';

/** What `--community ID` and `--brand ID` say. */
type AccountOptions = { readonly community?: number | undefined; readonly brand?: number | undefined };

/** The account that is named, or undefined when none is. Naming both is wrong usage. */
export function namedAccount({ community, brand }: AccountOptions): Account | undefined {
  if (community !== undefined && brand !== undefined) throw oneOfBoth();
  if (community !== undefined) return { kind: 'Community', id: communityId(community) };
  if (brand !== undefined) return { kind: 'Brand', id: brandId(brand) };
  return undefined;
}

/** The account that must be named. */
export function requiredAccount(options: AccountOptions): Account {
  const account = namedAccount(options);
  if (account === undefined) throw oneOfBoth();
  return account;
}

const oneOfBoth = () => new CommanderError(2, 'venue.account', 'one of --community ID and --brand ID is required');

/** The name of an account, or the refusal that there is none. */
export async function nameOf({ projector }: Core, account: Account): Promise<{ readonly name: string } | Refusal> {
  const { readModels } = projector;
  const found =
    account.kind === 'Community'
      ? await readModels.collection(communities).get(String(account.id))
      : await readModels.collection(brands).get(String(account.id));
  return found?.document ?? refuse('ResourceNotFound', `There is no ${account.kind.toLowerCase()} ${account.id}.`);
}
