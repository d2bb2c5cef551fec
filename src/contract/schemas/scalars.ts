import { Type } from 'typebox';
import { defined } from '../../domain/defined.ts';
import type { PlainDate as CalendarDate, Timestamp as Moment } from '../../domain/ids.ts';
import { type Flags, HOUR, maskRule, sumOf, type TextLimit } from '../../domain/limits.ts';

/** Schemas of the values in public shapes, typed as in the domain. */

/** An integer identifier of type `I`. */
export const Id = <I extends number>(description: string) =>
  Type.Unsafe<I>(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description }));

/** An hour on the 24-hour clock. */
export const Hour = (description: string) => Type.Integer({ minimum: HOUR.min, maximum: HOUR.max, description });

/** A calendar date, YYYY-MM-DD. */
export const PlainDate = (description: string) =>
  Type.Unsafe<CalendarDate>(Type.String({ format: 'date', description }));

/** A moment, ISO 8601 in UTC. */
export const Timestamp = (description: string) =>
  Type.Unsafe<Moment>(Type.String({ format: 'date-time', description }));

/** An amount in responses. */
export const Amount = (description: string) =>
  Type.Optional(
    Type.Number({ minimum: 0, description: `${description} Absent for an app of a member without amounts.` }),
  );

/** A text sent by callers. JSON Schema counts code points, as the rules do. */
export const Text = ({ min, max }: TextLimit, description: string) =>
  Type.String({ ...(min > 0 && { minLength: min }), maxLength: max, description });

/** One of a list of words. With a `title` it is a schema of its own in the API's description. */
export const OneOf = <W extends string>(
  words: readonly W[],
  options: { readonly description?: string; readonly title?: string } = {},
) => Type.Unsafe<W>(Type.String({ enum: words, ...defined(options) }));

/** A sum of flags, at least one of them. */
export const Mask = (flags: Flags, description: string) => {
  const mask = Type.Integer({ minimum: 1, maximum: sumOf(flags), description });
  // For error messages (validate.ts). Not enumerable, like TypeBox's own properties, because it is not JSON Schema.
  return Object.defineProperty(mask, '~rule', { value: maskRule(flags) });
};
