import { type Role, seesAmounts } from '../domain/roles.ts';

const currencies = new Map<string, Intl.NumberFormat>();

/** An amount in cents of a currency (ISO 4217): `$1,150.00` */
export const amount = (cents: number, currency: string): string =>
  currencies
    .getOrInsertComputed(currency, () => new Intl.NumberFormat('en', { style: 'currency', currency }))
    .format(cents / 100);

/** Formats amounts for one reader. */
export type AmountFormat = typeof amount;

/** How amounts are formatted for a member with this role. Undefined: they are not shown. */
export const amountFor = (role: Role): AmountFormat | undefined => (seesAmounts(role) ? amount : undefined);
