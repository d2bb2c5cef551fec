/** The fields of public shapes and of events that are amounts, or from which one follows. */
const AMOUNT_FIELDS: ReadonlySet<string> = new Set([
  ...['totalPrice', 'eventFee', 'fees', 'discountPercent', 'charge', 'refund', 'paid'],
]);

/** Inputs that are amounts, or choose by them, so that the answer tells them. */
const AMOUNT_INPUTS: ReadonlySet<string> = new Set(['eventFee', 'fees', 'discountPercent', 'maxPrice']);

/** Whether the input of a call gives an amount, or chooses or orders by one. */
export const isAboutAmounts = (input: unknown): boolean =>
  typeof input === 'object' &&
  input !== null &&
  Object.entries(input).some(([field, value]) => AMOUNT_INPUTS.has(field) || (field === 'sort' && value === 'price'));

/** The same without amounts, at any depth, for members whose role does not show them. The types do not say that the fields are absent. */
export function withoutAmounts<T>(value: T): T;
export function withoutAmounts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAmounts);
  if (typeof value !== 'object' || value === null) return value;
  const shown = Object.entries(value).filter(([field]) => !AMOUNT_FIELDS.has(field));
  return Object.fromEntries(shown.map(([field, one]) => [field, withoutAmounts(one)]));
}
