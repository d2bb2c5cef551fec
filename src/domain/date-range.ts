import { type Refusal, refuseField } from './decision.ts';
import type { PlainDate } from './ids.ts';

/** The days from one to another. Inclusive at both ends, either of which may be open. */
export type DateRange = { readonly startDate?: PlainDate; readonly endDate?: PlainDate };

/** Refuses a range that ends before it starts (`ValidationError`): an empty answer would look like a range without bookings. */
export const wrongRange = ({ startDate, endDate }: DateRange): Refusal | undefined =>
  startDate !== undefined && endDate !== undefined && startDate > endDate
    ? refuseField('startDate', 'must not be after', 'endDate')
    : undefined;
