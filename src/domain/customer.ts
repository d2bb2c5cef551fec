import type { Admission, CustomerStanding } from './admission.ts';
import { changesOf, type Describe, withChanges } from './changed-values.ts';
import {
  AGREED_PRICES,
  type AgreedPrices,
  CUSTOMER_RULES,
  type CustomerDetails,
  type CustomerTexts,
} from './customer-details.ts';
import { type Decision, isRefusal } from './decision.ts';
import type { CustomerDescribed } from './events.ts';
import { type BrandId, type Cents, type CommunityId, cents } from './ids.ts';

type OfCustomer = { readonly communityId: CommunityId; readonly brandId: BrandId };

export const evolveCustomer = (prices: AgreedPrices, { data }: CustomerDescribed): AgreedPrices =>
  withChanges(prices, data, AGREED_PRICES);

/**
 * Changes what a community keeps about a customer. No event if nothing differs.
 * @param prices what the log says was agreed
 * @param command `seen`: what the saved page showed; refused if it has changed since
 * @param texts those that the read model shows
 */
export function describeCustomer(
  prices: AgreedPrices,
  { communityId, brandId, ...command }: Describe<CustomerDetails> & OfCustomer,
  texts: CustomerTexts,
): Decision<CustomerDescribed> {
  const changes = changesOf<CustomerDetails>({ ...texts, ...prices }, command, CUSTOMER_RULES);
  if (isRefusal(changes)) return changes;
  return Object.keys(changes).length === 0
    ? []
    : [{ type: 'CustomerDescribed', data: { communityId, brandId, ...changes } }];
}

/** What a community has decided about a customer, under the name that people and callers see. */
export function standingOfCustomer(admission: Admission): CustomerStanding {
  if (admission === 'turnedAway') return 'blocked';
  return admission === 'trusted' ? 'trusted' : 'letIn';
}

/** What was charged and not refunded. */
export const paidOf = (figures: { readonly charged: Cents; readonly refunded: Cents } | undefined): Cents =>
  cents((figures?.charged ?? 0) - (figures?.refunded ?? 0));
