import { createRequire } from 'node:module';
import type * as AjvPackage from 'ajv';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import type { Static, TSchema } from 'typebox';
import { isPlainDate, MOMENT_RULE, momentOf } from '../../domain/calendar.ts';
import { lengthRule, rangeRule } from '../../domain/limits.ts';

export type Violation = ErrorObject;

/** A valid value, or its violations. */
export type Checked<T> = { readonly value: T } | { readonly violations: readonly Violation[] };

const require = createRequire(import.meta.url);
let shared: Ajv | undefined;

/** Loads Ajv on first use, to keep the start short. */
function ajv(): Ajv {
  if (shared !== undefined) return shared;
  const { Ajv: Validators }: typeof AjvPackage = require('ajv');
  shared = new Validators({
    allErrors: true,
    strict: true,
    strictTuples: false,
    // A violation carries its schema and the value.
    verbose: true,
    // Our schemas are valid, and compiling the meta-schema would delay the first request by 45 ms.
    meta: false,
    validateSchema: false,
  });
  shared.addFormat('date', isPlainDate);
  shared.addFormat('date-time', (text: string) => momentOf(text) !== undefined);
  // The address guard checks the URLs of webhooks, and explains what is wrong.
  shared.addFormat('uri', true);
  return shared;
}

/** Checks values against a schema: for REST, and for the inputs and results of MCP tools. Compiles the schema on first use. */
export function checkerOf<S extends TSchema>(schema: S): (value: unknown) => Checked<Static<S>> {
  let validate: ValidateFunction<Static<S>> | undefined;
  return (value) => {
    validate ??= ajv().compile<Static<S>>(schema);
    return validate(value) ? { value } : { violations: validate.errors ?? [] };
  };
}

/** Where in the value the violation is, such as `spaceIds.0`; empty for the value itself. */
export const pathOf = ({ instancePath }: Violation): string => instancePath.slice(1).replaceAll('/', '.');

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

/** The rule that a value breaks, phrased to follow its name, with limits in the words of the domain (docs/decisions/rest-api.md). */
export function ruleOf({ keyword, params, message = 'is invalid', parentSchema = {}, data }: Violation): string {
  const { minLength = 0, maxLength, minimum, maximum, format }: { [keyword: string]: unknown } = parentSchema;
  const { type, '~rule': ownRule }: { [keyword: string]: unknown } = parentSchema;
  if (typeof data === 'number' && typeof ownRule === 'string') return ownRule;
  if (keyword === 'enum' && Array.isArray(params.allowedValues))
    return `must be one of ${params.allowedValues.join(', ')}`;
  if (keyword === 'format') return format === 'date-time' ? MOMENT_RULE : 'must be a date in the form YYYY-MM-DD';
  if (typeof data === 'string' && typeof minLength === 'number' && typeof maxLength === 'number')
    return lengthRule({ min: minLength, max: maxLength });
  if (typeof data === 'number' && type === 'integer' && typeof minimum === 'number' && typeof maximum === 'number')
    return rangeRule({ min: minimum, max: maximum, step: 1 });
  if (keyword === 'maxItems') return `must have at most ${params.limit} entries`;
  if (keyword === 'minItems') return `must have at least ${params.limit} ${params.limit === 1 ? 'entry' : 'entries'}`;
  if (keyword === 'uniqueItems') return 'must not have the same entry twice';
  if (keyword === 'type') return `must be ${TYPE_NAMES[String(params.type)] ?? params.type}`;
  return message;
}
