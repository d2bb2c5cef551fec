import type { Timestamp } from './ids.ts';

/** `Math.max` and `Math.min` of any number of values; their arguments are on the stack, which overflows at about 120,000. */

export const maxOf = (values: readonly number[], least = Number.NEGATIVE_INFINITY): number =>
  values.reduce((most, value) => Math.max(most, value), least);

export const minOf = (values: readonly number[], most = Number.POSITIVE_INFINITY): number =>
  values.reduce((least, value) => Math.min(least, value), most);

/** The latest of some times, those that are known. */
export const latestOf = (first: Timestamp, ...others: readonly (Timestamp | undefined)[]): Timestamp =>
  others.reduce<Timestamp>((latest, other) => (other !== undefined && other > latest ? other : latest), first);
