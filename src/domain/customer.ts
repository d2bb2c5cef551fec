import type { Admission, CustomerStanding } from './admission.ts';
import { type Changes, changesOf, type Describe, type Rules, withChanges } from './changed-values.ts';
import { type Decision, isRefusal, refuseField, refuseFor } from './decision.ts';
import type { CustomerDescribed } from './events.ts';
import { type BrandId, type Cents, type CommunityId, cents, type SpaceId } from './ids.ts';
import { keysOf } from './keys-of.ts';
import {
  CUSTOMER_CONTACT,
  CUSTOMER_NOTE,
  DISCOUNT_PERCENT,
  EVENT_FEE,
  MAX_AGREED_FEES,
  wrongNumber,
  wrongText,
} from './limits.ts';
import type { PersonalText } from './personal-text.ts';

/** The fee of a space that was agreed with a customer. */
export type AgreedFee = { readonly spaceId: SpaceId; readonly eventFee: Cents };

/** What a community has agreed with a customer. The fee of a space goes before the percentage. */
export type AgreedPrices = {
  /** Off the fee of each space. */
  readonly discountPercent?: number;
  readonly fees?: readonly AgreedFee[];
};

/** What a community writes down about a customer, for itself. */
export type CustomerTexts<T extends PersonalText = string> = {
  /** Who calls, and how to reach them. */
  readonly contact?: T;
  readonly note?: T;
};

export type CustomerDetails<T extends PersonalText = string> = AgreedPrices & CustomerTexts<T>;

const RULES: Rules<CustomerDetails> = {
  discountPercent: (percent) => wrongNumber('discountPercent', percent, DISCOUNT_PERCENT),
  fees(fees) {
    if (fees.length > MAX_AGREED_FEES) return refuseField('fees', `must have at most ${MAX_AGREED_FEES} entries`);
    if (new Set(fees.map(({ spaceId }) => spaceId)).size < fees.length)
      return refuseField('fees', 'must have each space once');
    return refuseFor(fees.map(({ eventFee }) => wrongNumber('fees', eventFee, EVENT_FEE)));
  },
  contact: (text) => wrongText('contact', text, CUSTOMER_CONTACT),
  note: (text) => wrongText('note', text, CUSTOMER_NOTE),
};

export const CUSTOMER_DETAILS = keysOf(RULES);
export const CUSTOMER_TEXTS = ['contact', 'note'] as const satisfies readonly (keyof CustomerTexts)[];
export const AGREED_PRICES = ['discountPercent', 'fees'] as const satisfies readonly (keyof AgreedPrices)[];

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
  const changes: Changes<CustomerDetails> | ReturnType<typeof refuseField> = changesOf<CustomerDetails>(
    { ...texts, ...prices },
    command,
    RULES,
  );
  if (isRefusal(changes)) return changes;
  return Object.keys(changes).length === 0
    ? []
    : [{ type: 'CustomerDescribed', data: { communityId, brandId, ...changes } }];
}

/** The fee of an event of a customer: as agreed, or else that of the space. A percentage is rounded half up to a cent. */
export function agreedFee({ discountPercent, fees }: AgreedPrices, spaceId: SpaceId, eventFee: Cents): Cents {
  const fixed = fees?.find((each) => each.spaceId === spaceId);
  if (fixed !== undefined) return fixed.eventFee;
  return discountPercent === undefined ? eventFee : cents(Math.floor((eventFee * (100 - discountPercent) + 50) / 100));
}

/** What a community has decided about a customer, under the name that people and callers see. */
export function standingOfCustomer(admission: Admission): CustomerStanding {
  if (admission === 'turnedAway') return 'blocked';
  return admission === 'trusted' ? 'trusted' : 'letIn';
}

/** What was charged and not refunded. */
export const paidOf = (figures: { readonly charged: Cents; readonly refunded: Cents } | undefined): Cents =>
  cents((figures?.charged ?? 0) - (figures?.refunded ?? 0));
