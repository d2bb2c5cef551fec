import { type Static, Type } from 'typebox';
import { CUSTOMER_STANDINGS } from '../../domain/admission.ts';
import type { BrandId, SpaceId } from '../../domain/ids.ts';
import {
  CUSTOMER_CONTACT,
  CUSTOMER_NOTE,
  DISCOUNT_PERCENT,
  MAX_AGREED_FEES,
  NAME,
  SEARCH,
} from '../../domain/limits.ts';
import { Amount, Id, OneOf, PlainDate, Text } from './scalars.ts';

/** More than one customer ever books, and as many as every language counts. */
const MOST = 2 ** 31 - 1;

const details = {
  contact: Type.Optional(Text(CUSTOMER_CONTACT, 'Who calls, and how to reach them. The customer never sees it.')),
  note: Type.Optional(Text(CUSTOMER_NOTE, 'What you write down. The customer never sees it.')),
  discountPercent: Type.Optional(
    Type.Integer({
      minimum: DISCOUNT_PERCENT.min,
      maximum: DISCOUNT_PERCENT.max,
      description: 'What was agreed off the fee of each space.',
    }),
  ),
  fees: Type.Optional(
    Type.Array(
      Type.Object({
        spaceId: Id<SpaceId>('One of your spaces.'),
        eventFee: Type.Number({ minimum: 0, description: 'What you earn of an event. At most two decimals.' }),
      }),
      { maxItems: MAX_AGREED_FEES, description: 'Agreed fees of single spaces, which go before the discount.' },
    ),
  ),
};

/** A customer of a community. */
export const CustomerDto = Type.Object(
  {
    id: Id<BrandId>('The brand that the customer is.'),
    name: Type.String({ description: 'Its name.' }),
    isKept: Type.Boolean({ description: 'Whether you look after it. Others are brands with an account of their own.' }),
    standing: OneOf(CUSTOMER_STANDINGS, {
      description:
        'letIn: its requests wait for an answer. trusted: they are approved at once. blocked: they are not taken.',
    }),
    ...details,
    booked: Type.Integer({ minimum: 0, maximum: MOST, description: 'Bookings that you approved or entered.' }),
    cancelled: Type.Integer({
      minimum: 0,
      maximum: MOST,
      description: 'Bookings and requests that it cancelled itself.',
    }),
    paid: Amount('What it was charged and not refunded.'),
    lastDate: Type.Optional(PlainDate('The latest date of a booking.')),
  },
  { title: 'CustomerDto', description: 'A customer of a community.' },
);
export type CustomerDto = Static<typeof CustomerDto>;

export const CreateCustomer = Type.Object(
  { name: Text(NAME, 'Its name, which no other customer of yours has.'), ...details },
  { title: 'CreateCustomer', description: 'A new customer.', additionalProperties: false },
);
export type CreateCustomer = Static<typeof CreateCustomer>;

/** Words in the names of the customers that are listed. */
export const CustomerSearch = Type.Optional(Text(SEARCH, 'Words in the name. Absent: all customers.'));

export const CustomersQuery = Type.Object({ q: CustomerSearch });
