import { type Cents, cents } from './ids.ts';

/**
 * What puts a charge or refund in a month: the date of the event, or the moment at which it was made, which is the approval for a charge
 * and the cancellation for a refund.
 */
export type ChargeBasis = (typeof CHARGE_BASES)[number];
export const CHARGE_BASES = ['event', 'approval'] as const;

/** The money of several bookings, in one currency. Currencies are never added. */
export type ChargeTotals = {
  /** ISO 4217. */
  readonly currency: string;
  readonly charged: Cents;
  readonly refunded: Cents;
  /** The event fees of the charges less those of the refunds: the community's earnings. */
  readonly earned: Cents;
};

/**
 * What an account earned (a community) or was charged (a brand) for the events of a month in one currency, less refunds, and for those of the
 * same month a year before.
 */
export type MonthMoney = {
  /** YYYY-MM. */
  readonly month: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly sum: Cents;
  readonly yearBefore: Cents;
};

type Addend = {
  readonly currency: string;
  readonly charged?: number | undefined;
  readonly refunded?: number | undefined;
  readonly earned?: number | undefined;
};

/** Adds up, each currency by itself. */
export function totalsOf(addends: readonly Addend[]): ChargeTotals[] {
  const totals = new Map<string, ChargeTotals>();
  for (const { currency, charged = 0, refunded = 0, earned = 0 } of addends) {
    const before = totals.get(currency);
    totals.set(currency, {
      currency,
      charged: cents((before?.charged ?? 0) + charged),
      refunded: cents((before?.refunded ?? 0) + refunded),
      earned: cents((before?.earned ?? 0) + earned),
    });
  }
  return [...totals.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}
