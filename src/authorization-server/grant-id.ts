import { randomBytes } from 'node:crypto';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';

/**
 * A grant is tied to the account that the user chose on the consent page. oidc-provider keeps no field of ours in a
 * grant, so its id says it: nothing can be issued under a grant whose account is not known.
 */
export const newGrantId = (account: Account | undefined): string =>
  `${account === undefined ? NO_ACCOUNT : accountKey(account)}.${randomBytes(18).toString('base64url')}`;

/** The account of a grant; `undefined` for one that only says who the user is (the web console's). */
export function accountOfGrant(grantId: string): AccountKey | undefined {
  const match = /^((?:Community|Brand):\d+)\./.exec(grantId);
  return match?.[1] as AccountKey | undefined;
}

const NO_ACCOUNT = 'none';
