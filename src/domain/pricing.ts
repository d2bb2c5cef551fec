import { type Cents, cents } from './ids.ts';

export type Price = {
  readonly eventFee: Cents;
  readonly serviceFee: Cents;
  readonly serviceFeePercent: number;
  readonly totalPrice: Cents;
};

/**
 * The flat event fee plus the brand service fee, whatever the duration (docs/decisions/money.md). The service fee is rounded
 * half up to a cent; two decimals of `serviceFeePercent` count.
 */
export function priceOf(eventFee: Cents, serviceFeePercent: number): Price {
  const basisPoints = Math.round(serviceFeePercent * 100);
  const serviceFee = cents(Math.floor((eventFee * basisPoints + 5_000) / 10_000));
  return { eventFee, serviceFee, serviceFeePercent, totalPrice: cents(eventFee + serviceFee) };
}

/** Cents as the JSON number the API shows, with at most two decimals. */
export const toAmount = (value: Cents): number => value / 100;

/** Cents as text with two decimals and no currency, such as `420.00`. */
export const formatAmount = (value: number): string => (value / 100).toFixed(2);

/** Parses an amount typed as `150`, `150.5` or `150,50`, without rounding. Undefined for anything else. */
export function parseAmount(text: string): Cents | undefined {
  const [, whole, fraction = ''] = /^(\d{1,10})(?:[.,](\d{1,2}))?$/.exec(text) ?? [];
  return whole === undefined ? undefined : cents(Number(whole) * 100 + Number(fraction.padEnd(2, '0')));
}
