import { createRequire } from 'node:module';
import type * as AjvPackage from 'ajv';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from '../contract/schema.ts';
import { isPlainDate, MOMENT_RULE, momentOf } from '../domain/calendar.ts';
import { lengthRule, rangeRule } from '../domain/limits.ts';

/** Loaded by `require`, because what is loaded with the first request is needed at once. */
const require = createRequire(import.meta.url);
let made: Ajv | undefined;

function ajv(): Ajv {
  if (made !== undefined) return made;
  const { Ajv: Validators }: typeof AjvPackage = require('ajv');
  // Verbose: an error carries its schema and the value.
  made = new Validators({ allErrors: false, strict: true, strictTuples: false, verbose: true });
  made.addFormat('date', isPlainDate);
  // Webhook URLs are checked by the address guard, which explains what is wrong.
  made.addFormat('uri', true);
  made.addFormat('date-time', (text: string) => momentOf(text) !== undefined);
  return made;
}

/**
 * Path parameters are strings, so integers have to be converted, but only from the plain decimal form: `0x5`, `5e0` and ` 5` are
 * refused. In a JSON body, `"5"` is a string and not converted (docs/decisions/rest-api.md).
 *
 * A schema is compiled for the first request that it checks: compiling all of them would be a tenth of a start.
 */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  let validate: ValidateFunction | undefined;
  const integers = httpPart === 'params' ? integersOf(schema) : [];
  return (value: Record<string, unknown>) => {
    for (const name of integers) {
      const text = value[name];
      if (typeof text === 'string' && /^(?:0|[1-9]\d*)$/.test(text)) value[name] = Number(text);
    }
    validate ??= ajv().compile(schema);
    // Not the value: Fastify would copy the headers whenever they are read from then on.
    return validate(value) || { error: (validate.errors ?? []).map((error) => inDomainWords(error, httpPart)) };
  };
};

/** A limit is refused in the same words as by the domain (docs/decisions/rest-api.md), a date as by the command line. */
function inDomainWords(error: ErrorObject, httpPart: string | undefined): ErrorObject {
  const { data, parentSchema = {} } = error;
  const {
    type,
    minLength = 0,
    maxLength,
    minimum,
    maximum,
    '~rule': rule,
  }: { [keyword: string]: unknown } = parentSchema;
  if (typeof data === 'number' && typeof rule === 'string') return { ...error, message: rule };
  if (typeof data === 'string' && typeof minLength === 'number' && typeof maxLength === 'number')
    return { ...error, message: lengthRule({ min: minLength, max: maxLength }) };
  if (parentSchema.format === 'date' && error.keyword === 'format')
    return { ...error, message: 'must be a date in the form YYYY-MM-DD' };
  if (parentSchema.format === 'date-time' && error.keyword === 'format') return { ...error, message: MOMENT_RULE };
  // In a path everything is text: there is no type to be mistaken about.
  const isInteger = type === 'integer' && (typeof data === 'number' || httpPart === 'params');
  if (isInteger && typeof minimum === 'number' && typeof maximum === 'number')
    return { ...error, message: rangeRule({ min: minimum, max: maximum, step: 1 }) };
  if (error.keyword === 'type' && httpPart === 'querystring' && Array.isArray(data))
    return { ...error, message: 'must be given only once' };
  const named = error.keyword === 'type' && typeof type === 'string' ? TYPES[type] : undefined;
  if (named === undefined) return error;
  const isQuoted = typeof data === 'string' && (type === 'integer' || type === 'number');
  return { ...error, message: isQuoted ? `must be ${named}, not a string` : `must be ${named}` };
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

function integersOf(schema: TSchema): string[] {
  const { properties = {} }: { readonly properties?: { readonly [name: string]: { readonly type?: unknown } } } =
    schema;
  return Object.keys(properties).filter((name) => properties[name]?.type === 'integer');
}
