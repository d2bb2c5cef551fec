import type { Changes } from '../domain/changed-values.ts';
import { type CustomerDetails, paidOf, standingOfCustomer } from '../domain/customer.ts';
import { defined } from '../domain/defined.ts';
import { picked } from '../domain/picked.ts';
import { toAmount, toCents } from '../domain/pricing.ts';
import type { Customer } from '../queries/customers.ts';
import type { CreateCustomer, CustomerDto } from './schemas/customer.ts';

export const toCustomerDto = (customer: Customer): CustomerDto => {
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
