import { type Cents, cents } from './ids.ts';

export type Price = {
  readonly eventFee: Cents;
  readonly serviceFee: Cents;
  readonly serviceFeePercent: number;
  readonly totalPrice: Cents;
};

/**
 * Flat fee per event plus the brand service fee; the duration does not matter (docs/decisions/money.md). The service fee is
 * rounded half up to a cent. `serviceFeePercent` counts with two decimals.
 */
export function priceOf(eventFee: Cents, serviceFeePercent: number): Price {
  const basisPoints = Math.round(serviceFeePercent * 100);
  const serviceFee = cents(Math.floor((eventFee * basisPoints + 5_000) / 10_000));
  return { eventFee, serviceFee, serviceFeePercent, totalPrice: cents(eventFee + serviceFee) };
}

/** Cents as the JSON number the API shows, at most two decimals. */
export const toAmount = (value: Cents): number => value / 100;
