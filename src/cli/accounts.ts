import type { Command } from '@commander-js/extra-typings';
import type { Account } from '../domain/account.ts';
import { isRefusal, type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { brandId, communityId } from '../domain/ids.ts';
import { type Answer, type Invoked, type OperatorCore, operate } from './operation.ts';
import { subcommand, withAccount, wrongUsage } from './subcommand.ts';

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

/** Runs `work` for an account, or refuses if it does not exist. */
export const operateFor = (
  command: Invoked,
  account: Account,
  work: (core: OperatorCore) => Promise<Answer | Refusal>,
): Promise<void> =>
  operate(command, async (core) => {
    const owner = await nameOf(core, account);
    return isRefusal(owner) ? owner : work(core);
  });

type Shape<T> = {
  readonly json: (one: T) => object;
  readonly columns?: readonly string[];
};

/** Adds the command `list`, for one account or all of them. */
export function listCommand<T>(
  group: Command,
  what: string,
  read: (core: OperatorCore, account: Account | undefined) => Promise<readonly T[]>,
  shape: Shape<T>,
): void {
  const list = subcommand(group, 'list', `list ${what}`, `${group.name()} list --brand 1`);
  withAccount(list, 'whose records to list (default: all)').action((named, command) => {
    const account = namedAccount(named);
    return printOwned(command, account, (core) => read(core, account), shape);
  });
}

/**
 * Prints the records of an account, or of all accounts. Refuses an unknown account: an empty list would look like an account without
 * records.
 */
export function printOwned<T>(
  command: Invoked,
  account: Account | undefined,
  list: (core: OperatorCore) => Promise<readonly T[]>,
  { json, columns }: Shape<T>,
): Promise<void> {
  const print = async (core: OperatorCore) => ({
    json: (await list(core)).map((one) => json(one)),
    ...defined({ columns }),
  });
  return account === undefined ? operate(command, print) : operateFor(command, account, print);
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
