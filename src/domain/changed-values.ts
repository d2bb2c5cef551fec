import { type Refusal, refuseField, refuseFor } from './decision.ts';

/** New values; `null` removes one. Absent ones stay. */
export type Changes<D extends object> = { readonly [F in keyof D]?: D[F] | null };

/** The rule of each value. Exhaustive: a new one does not compile without its rule. */
export type Rules<D extends object> = {
  readonly [F in keyof Required<D>]: (value: Required<D>[F]) => Refusal | undefined;
};

/** What values are to be, and what the page showed that asks for them. */
export type Describe<D extends object> = { readonly wanted: Changes<D>; readonly seen?: D | undefined };

type Values = { readonly [field: string]: unknown };
type AnyRules = { readonly [field: string]: (value: never) => Refusal | undefined };

/**
 * The wanted values that differ. An empty text and an empty list are none. Refuses wrong ones, all at once, and those that have changed
 * since the page showed them.
 */
export function changesOf<D extends object>(before: D, command: Describe<D>, rules: Rules<D>): Changes<D> | Refusal;
export function changesOf(before: Values, { wanted, seen }: Describe<Values>, rules: AnyRules): Values | Refusal {
  const changes = new Map<string, unknown>();
  const wrong: (Refusal | undefined)[] = [];
  for (const [field, rule] of Object.entries(rules)) {
    const value = withoutEmpty(wanted[field]);
    const now = before[field] ?? null;
    if (value === undefined || isSame(value, now)) continue;
    changes.set(field, value);
    if (seen !== undefined && !isSame(seen[field] ?? null, now)) wrong.push(refuseField(field, CHANGED_MEANWHILE));
    // The type of each rule is that of its field, which the first signature checks.
    else if (value !== null) wrong.push(Reflect.apply(rule, undefined, [value]));
  }
  return refuseFor(wrong) ?? Object.fromEntries(changes);
}

const withoutEmpty = (value: unknown): unknown =>
  value === '' || (Array.isArray(value) && value.length === 0) ? null : value;

/** Phrased to follow the name of a field. */
const CHANGED_MEANWHILE = 'was changed by someone else in the meantime';

/** Values after changes to some of their fields. */
export function withChanges<D extends object>(before: D, changes: Changes<D>, fields: readonly (keyof D & string)[]): D;
export function withChanges(before: Values, changes: Values, fields: readonly string[]): Values {
  const after = new Map(Object.entries(before));
  for (const field of fields) {
    const value = changes[field];
    if (value === null) after.delete(field);
    else if (value !== undefined) after.set(field, value);
  }
  return Object.fromEntries(after);
}

/** Lists and addresses are the same if they read the same. NaN is nothing else, although JSON has no word for it. */
const isSame = (a: unknown, b: unknown): boolean =>
  Object.is(a, b) || (typeof a === 'object' && typeof b === 'object' && JSON.stringify(a) === JSON.stringify(b));
