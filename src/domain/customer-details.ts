import type { Rules } from './changed-values.ts';
import { refuseField, refuseFor } from './decision.ts';
import { type Cents, cents, type SpaceId } from './ids.ts';
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

export const CUSTOMER_RULES: Rules<CustomerDetails> = {
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

export const CUSTOMER_DETAILS = keysOf(CUSTOMER_RULES);
export const CUSTOMER_TEXTS = ['contact', 'note'] as const satisfies readonly (keyof CustomerTexts)[];
export const AGREED_PRICES = ['discountPercent', 'fees'] as const satisfies readonly (keyof AgreedPrices)[];

/** The fee of an event of a customer: as agreed, or else that of the space. A percentage is rounded half up to a cent. */
export function agreedFee({ discountPercent, fees }: AgreedPrices, spaceId: SpaceId, eventFee: Cents): Cents {
  const fixed = fees?.find((each) => each.spaceId === spaceId);
  if (fixed !== undefined) return fixed.eventFee;
  return discountPercent === undefined ? eventFee : cents(Math.floor((eventFee * (100 - discountPercent) + 50) / 100));
}
