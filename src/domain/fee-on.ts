import { type AgreedPrices, agreedFee } from './customer-details.ts';
import { termsOn } from './day-terms.ts';
import type { Cents, PlainDate } from './ids.ts';
import type { Space } from './space.ts';

/** The fee of an event of a customer in a space on a date. */
export const feeOn = (space: Space, date: PlainDate, agreed: AgreedPrices): Cents =>
  agreedFee(agreed, space.spaceId, termsOn(space, date).eventFee);
