import type { BrandId, CommunityId } from './ids.ts';

/** Every caller acts for one of these (docs/specification.md#accounts-and-visibility). */
export type Account =
  | { readonly kind: 'Community'; readonly id: CommunityId }
  | { readonly kind: 'Brand'; readonly id: BrandId };

export type AccountKind = Account['kind'];

/** An account as a single index key, such as `Community:7`. */
export type AccountKey = `${AccountKind}:${number}`;
export const accountKey = (account: Account): AccountKey => `${account.kind}:${account.id}`;

/** Who caused an event: an API key, an OAuth client, a console user, the command line (operator) or the service itself. */
export type Actor = {
  readonly kind: 'apiKey' | 'client' | 'user' | 'operator' | 'system';
  readonly id: string;
  readonly account?: Account;
};

export const SYSTEM: Actor = { kind: 'system', id: 'scheduler' };
export const DELIVERER: Actor = { kind: 'system', id: 'webhooks' };
export const OPERATOR: Actor = { kind: 'operator', id: 'cli' };
