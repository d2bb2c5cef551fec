import { CommanderError } from '@commander-js/extra-typings';
import type { Account } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { brandId, communityId } from '../domain/ids.ts';
import type { OperatorCore } from './operation.ts';

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
export async function nameOf(
  { queries }: OperatorCore,
  account: Account,
): Promise<{ readonly name: string } | Refusal> {
  const name = await queries.accounts.name(account);
  return name === undefined
    ? refuse('ResourceNotFound', `There is no ${account.kind.toLowerCase()} ${account.id}.`)
    : { name };
}
