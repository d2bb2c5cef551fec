import { errors } from 'oidc-provider';
import { type IsSuspended, SUSPENDED } from '../auth/suspension.ts';
import { accountOfKey } from '../domain/account.ts';

/** Whether the account of a grant or a client is suspended; it may have none. @param key the account's key */
export async function isOfSuspended(key: unknown, isSuspended: IsSuspended): Promise<boolean> {
  const account = typeof key === 'string' ? accountOfKey(key) : undefined;
  return account !== undefined && isSuspended(account);
}

/**
 * Refuses a request for a suspended account. `access_denied`, because apps forget their tokens after `invalid_grant`, and those work again
 * once the account is reinstated.
 * @throws {errors.AccessDenied}
 */
export async function denySuspended(key: unknown, isSuspended: IsSuspended): Promise<void> {
  if (await isOfSuspended(key, isSuspended)) throw new errors.AccessDenied(SUSPENDED.details);
}
