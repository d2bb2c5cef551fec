export const isText = (value: unknown): value is string => typeof value === 'string';

/** A whole number, not negative. */
export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** The position of an event, on either engine. */
export const isPosition = (value: unknown): value is string =>
  isText(value) &&
  (/^\d{20}-\d{20}$/.test(value) || (/^\d{16}$/.test(value) && isCount(Number(value)) && Number(value) > 0));
