import { CommanderError } from '@commander-js/extra-typings';
import type { Account } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { brandId, communityId } from '../domain/ids.ts';
import type { OperatorCore } from './operation.ts';

/** The options `--community ID` and `--brand ID`. */
type AccountOptions = { readonly community?: number | undefined; readonly brand?: number | undefined };

/** The account named by the options, if any. Naming both is wrong usage. */
export function namedAccount({ community, brand }: AccountOptions): Account | undefined {
  if (community !== undefined && brand !== undefined)
    throw wrongUsage('use either --community ID or --brand ID, not both');
  if (community !== undefined) return { kind: 'Community', id: communityId(community) };
  if (brand !== undefined) return { kind: 'Brand', id: brandId(brand) };
  return undefined;
}

/** The account named by the options; naming none is wrong usage. */
export function requiredAccount(options: AccountOptions): Account {
  const account = namedAccount(options);
  if (account === undefined) throw wrongUsage('either --community ID or --brand ID is required');
  return account;
}

const wrongUsage = (message: string) => new CommanderError(2, 'venue.account', message);

/**
 * Lists what belongs to an account, or to all of them without one. Of an account that does not exist there is no list: an empty one
 * would look like an account that has nothing.
 */
export async function ownedBy<T>(
  core: OperatorCore,
  account: Account | undefined,
  list: () => Promise<readonly T[]>,
): Promise<readonly T[] | Refusal> {
  const owner = account && (await nameOf(core, account));
  return isRefusal(owner) ? owner : list();
}

/** The name of an account, or a refusal if it does not exist. */
export async function nameOf(
  { queries }: OperatorCore,
  account: Account,
): Promise<{ readonly name: string } | Refusal> {
  const name = await queries.accounts.name(account);
  return name === undefined
    ? refuse('ResourceNotFound', `There is no ${account.kind.toLowerCase()} ${account.id}.`)
    : { name };
}
