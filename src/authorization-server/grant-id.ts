import { randomBytes } from 'node:crypto';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';

/**
 * The id of a grant starts with the account that the user chose on the consent page, because oidc-provider cannot store
 * additional fields in a grant. So nothing can be issued under a grant whose account is unknown (docs/decisions/accounts.md).
 */
export const newGrantId = (account: Account | undefined): string =>
  `${account === undefined ? NO_ACCOUNT : accountKey(account)}.${randomBytes(18).toString('base64url')}`;

/** The account of a grant; undefined for one that only identifies the user (the console's). */
export function accountOfGrant(grantId: string): AccountKey | undefined {
  const match = /^((?:Community|Brand):\d+)\./.exec(grantId);
  return match?.[1] as AccountKey | undefined;
}

const NO_ACCOUNT = 'none';
