import type { AdmissionDocument } from '../../projections/admissions.ts';
import type { Changes } from '../domain/changed-values.ts';
import { paidOf, standingOfCustomer } from '../domain/customer.ts';
import type { CustomerDetails } from '../domain/customer-details.ts';
import { defined } from '../domain/defined.ts';
import type { Opened } from '../domain/personal-text.ts';
import { picked } from '../domain/picked.ts';
import { toAmount, toCents } from '../domain/pricing.ts';
import type { CreateCustomer, CustomerDto } from './schemas/customer.ts';

/** A customer with its texts opened. */
type ReadableCustomer = Opened<AdmissionDocument> & { readonly name: string };

export const toCustomerDto = (customer: ReadableCustomer): CustomerDto => {
  const { brandId: id, name, isKept = false, admission, figures, fees } = customer;
  return {
    id,
    name,
    isKept,
    standing: standingOfCustomer(admission),
    ...picked(customer, ['contact', 'note', 'discountPercent']),
    ...(fees && { fees: fees.map(({ spaceId, eventFee }) => ({ spaceId, eventFee: toAmount(eventFee) })) }),
    booked: figures?.booked ?? 0,
    cancelled: figures?.cancelled ?? 0,
    paid: toAmount(paidOf(figures)),
    ...defined({ lastDate: figures?.lastDate }),
  };
};

/** What a caller wants to keep about a new customer. */
export const detailsOfCustomer = ({ fees, ...details }: Omit<CreateCustomer, 'name'>): Changes<CustomerDetails> => ({
  ...details,
  ...(fees && { fees: fees.map(({ spaceId, eventFee }) => ({ spaceId, eventFee: toCents(eventFee) })) }),
});
