import { type Cents, cents } from './ids.ts';

export type Price = {
  readonly eventFee: Cents;
  readonly serviceFee: Cents;
  readonly serviceFeePercent: number;
  readonly totalPrice: Cents;
};

/**
 * The flat event fee plus the brand service fee, for any duration (docs/decisions/bookings.md). The service fee is rounded
 * half up to a cent; two decimals of `serviceFeePercent` count.
 */
export function priceOf(eventFee: Cents, serviceFeePercent: number): Price {
  const basisPoints = Math.round(serviceFeePercent * 100);
  const serviceFee = cents(Math.floor((eventFee * basisPoints + 5_000) / 10_000));
  return { eventFee, serviceFee, serviceFeePercent, totalPrice: cents(eventFee + serviceFee) };
}

/** Cents as the JSON number the API shows, with at most two decimals. */
export const toAmount = (value: Cents): number => value / 100;

/** The JSON number of the API as cents. */
export const toCents = (amount: number): Cents => cents(Math.round(amount * 100));

/** Cents as text with two decimals and no currency, such as `420.00`. */
export const formatAmount = (value: number): string => (value / 100).toFixed(2);

/** `150`, `150.5`, `150,50`: with at most two decimals, a comma before the last two digits can only be the decimal one. */
const PLAIN_AMOUNT = /^(\d{1,10})(?:[.,](\d{1,2}))?$/;
/** `1,234`, `1,234.50`: the form in pages and messages. */
const GROUPED_AMOUNT = /^([1-9]\d{0,2}(?:,\d{3}){1,3})(?:\.(\d{1,2}))?$/;
const MAX_DIGITS = 10;

/**
 * Parses an amount, without rounding: plain (`150`, `150.5`, `150,50`), or as the service shows it (`1,234.50`). Undefined for
 * anything else, and for what can be read in two ways, such as `1.234`.
 */
export function parseAmount(text: string): Cents | undefined {
  const [, written, fraction = ''] = PLAIN_AMOUNT.exec(text) ?? GROUPED_AMOUNT.exec(text) ?? [];
  const whole = written?.replaceAll(',', '');
  if (whole === undefined || whole.length > MAX_DIGITS) return undefined;
  return cents(Number(whole) * 100 + Number(fraction.padEnd(2, '0')));
}

/** How an amount is to be written. Phrased to follow the name of a field. */
export const AMOUNT_RULE =
  'must be an amount such as 1,234.50 or 1234.50: a point before the cents, commas only between thousands';
