import { type BrandId, brandId, type CommunityId, communityId } from './ids.ts';

/** Every caller acts for one of these (docs/guides/rest-api.md#accounts-and-visibility). */
export type Account =
  | { readonly kind: 'Community'; readonly id: CommunityId }
  | { readonly kind: 'Brand'; readonly id: BrandId };

export type AccountKind = Account['kind'];

export type OfKind<K extends AccountKind> = Extract<Account, { readonly kind: K }>;

export const communityOf = ({ communityId: id }: { readonly communityId: CommunityId }): OfKind<'Community'> => ({
  kind: 'Community',
  id,
});
export const brandOf = ({ brandId: id }: { readonly brandId: BrandId }): OfKind<'Brand'> => ({ kind: 'Brand', id });

/** The two parties of a booking: the community first. */
export const partiesOf = (booking: { readonly communityId: CommunityId; readonly brandId: BrandId }): Account[] => [
  communityOf(booking),
  brandOf(booking),
];

/** An account as a single index key, such as `Community:7`. */
export type AccountKey = `${AccountKind}:${number}`;
export const accountKey = (account: Account): AccountKey => `${account.kind}:${account.id}`;

/** An account where its name is not known or not shown: `Brand 7` */
export const accountInWords = ({ kind, id }: { readonly kind: AccountKind; readonly id: number }): string =>
  `${kind} ${id}`;

/** The account of a key such as `Brand:7`; undefined if it is no such key. */
export function accountOfKey(key: string): Account | undefined {
  const match = /^(Community|Brand):(\d+)$/.exec(key);
  if (match === null) return undefined;
  const id = Number(match[2]);
  return match[1] === 'Brand' ? { kind: 'Brand', id: brandId(id) } : { kind: 'Community', id: communityId(id) };
}

/** The actor of an event: an API key, an OAuth client, a console user, the command line (operator) or the service itself. */
export type Actor = {
  readonly kind: 'apiKey' | 'client' | 'user' | 'operator' | 'system';
  readonly id: string;
  readonly account?: Account;
};

export const SYSTEM: Actor = { kind: 'system', id: 'scheduler' };
export const DELIVERER: Actor = { kind: 'system', id: 'webhooks' };
/** The actor of automatic ends of an app's access, such as after a refresh token was used twice. */
export const AUTHORIZATION_SERVER: Actor = { kind: 'system', id: 'authorization-server' };
/** @param id `VENUE_OPERATOR` */
export const operatorOf = (id: string): Actor => ({ kind: 'operator', id });
export const OPERATOR: Actor = operatorOf('cli');
