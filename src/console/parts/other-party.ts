import type { BookingDocument } from '../../../projections/bookings.ts';
import { type Account, type AccountKind, accountInWords } from '../../domain/account.ts';
import type { PageDeps } from './routes.ts';

type Parties = Pick<BookingDocument, 'communityId' | 'brandName'>;

/** The other party of an account's bookings: the brands of a community, or the communities of a brand. */
export type OtherParty = { readonly kind: AccountKind; nameOf(booking: Parties): string };

/** The name of a brand is in its bookings. */
export const BRANDS: OtherParty = { kind: 'Brand', nameOf: ({ brandName }) => brandName };

/** The other party of these bookings. The names of communities are read together. */
export async function otherPartyOf(
  { spaces }: Pick<PageDeps['queries'], 'spaces'>,
  account: Account,
  bookings: readonly Parties[],
): Promise<OtherParty> {
  if (account.kind === 'Community') return BRANDS;
  const kind = 'Community';
  const communities = await spaces.communitiesOf(bookings);
  return { kind, nameOf: ({ communityId: id }) => communities.get(id)?.name ?? accountInWords({ kind, id }) };
}
