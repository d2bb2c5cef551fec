import type { Account } from '../domain/account.ts';
import type { MonthMoney } from '../domain/charges.ts';
import { type MonthOccupancy, percentBooked } from '../domain/occupancy.ts';
import { toAmount } from '../domain/pricing.ts';
import { toPublicAccount } from './account.ts';

/** A month of money as the command line prints it: in units of the currency. */
export const toOperatorMoney = ({ month, currency, sum, yearBefore }: MonthMoney) => ({
  month,
  currency,
  amount: toAmount(sum),
  yearBefore: toAmount(yearBefore),
});

/** A month of a space as the command line prints it: hours, and whole percent, which are left out where no hour was open. */
export const toOperatorOccupancy = ({ month, space, current, monthBefore, yearBefore }: MonthOccupancy) => ({
  month,
  spaceId: space.spaceId,
  spaceName: space.name,
  openHours: current.open,
  bookedHours: current.booked,
  percent: percentBooked(current),
  percentMonthBefore: percentBooked(monthBefore),
  percentYearBefore: percentBooked(yearBefore),
});

/** What was reported. */
type Reported = {
  readonly account: Account;
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly money: readonly MonthMoney[];
  /** Undefined for a brand. */
  readonly occupancy: readonly MonthOccupancy[] | undefined;
};

/** A report as the command line prints it with `--json`. */
export const toOperatorReport = ({ account, name, from, to, money, occupancy }: Reported) => ({
  account: { ...toPublicAccount(account), name },
  from,
  to,
  money: money.map(toOperatorMoney),
  occupancy: occupancy?.map(toOperatorOccupancy),
});
