import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { checkerOf, pathOf, ruleOf, type Violation } from '../contract/schemas/validate.ts';
import { isObject } from '../domain/is-object.ts';
import { rangeRule } from '../domain/limits.ts';
import { namesIn, unknownName } from './unknown-names.ts';

/**
 * `null` in an optional member of a body counts as absent: many clients send it for everything that is not set.
 *
 * Parameters are strings, so numbers have to be converted, but only from the plain decimal form: `0x5`, `5e0` and ` 5` are refused. A
 * parameter that may be repeated, and is given once, is a list of one. In a JSON body, `"5"` is a string and not converted
 * (docs/decisions/rest-api.md).
 */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'request' }) => {
  const check = checkerOf(schema);
  const isParameter = httpPart === 'params' || httpPart === 'querystring';
  const integers = isParameter ? propertiesOf(schema, 'integer') : [];
  const numbers = isParameter ? propertiesOf(schema, 'number') : [];
  const lists = httpPart === 'querystring' ? propertiesOf(schema, 'array') : [];
  const optional = httpPart === 'body' ? optionalOf(schema) : [];
  return (value: Record<string, unknown>) => {
    for (const name of optional) if (isObject(value) && value[name] === null) delete value[name];
    for (const name of integers) convert(value, name, PLAIN_INTEGER);
    for (const name of numbers) convert(value, name, PLAIN_NUMBER);
    for (const name of lists) if (typeof value[name] === 'string') value[name] = [value[name]];
    const checked = check(value);
    // True instead of the value: Fastify would otherwise copy the headers each time they are read.
    if ('value' in checked) return true;
    const [first] = checked.violations;
    return {
      error: new Error(first === undefined ? `The ${httpPart} is invalid.` : `${sentenceOf(first, httpPart)}.`),
    };
  };
};

const PLAIN_INTEGER = /^(?:0|-?[1-9]\d*)$/;
const PLAIN_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

function convert(values: Record<string, unknown>, name: string, form: RegExp): void {
  const text = values[name];
  if (typeof text === 'string' && form.test(text)) values[name] = Number(text);
}

/** Names the invalid field and its rule: `startHour must be a whole number, 0 to 23`. */
function sentenceOf(violation: Violation, httpPart: string): string {
  const { keyword, params, parentSchema } = violation;
  const path = pathOf(violation);
  if (keyword === 'additionalProperties')
    return unknownName('field', String(params.additionalProperty), namesIn(parentSchema));
  if (keyword === 'type' && path === '' && httpPart === 'body') return 'A body is required: a JSON object';
  if (keyword === 'required') return `${path === '' ? '' : `${path}.`}${params.missingProperty} is required`;
  return `${path === '' ? httpPart : path} ${ruleIn(violation, httpPart)}`;
}

function ruleIn(violation: Violation, httpPart: string): string {
  const { keyword, data, parentSchema = {} } = violation;
  const { type, minimum, maximum }: { [keyword: string]: unknown } = parentSchema;
  if (keyword !== 'type') return ruleOf(violation);
  if (httpPart === 'querystring' && Array.isArray(data)) return 'must be given only once';
  // Every parameter is text, so name the range instead of the type.
  if (httpPart !== 'body' && type === 'integer' && typeof minimum === 'number' && typeof maximum === 'number')
    return rangeRule({ min: minimum, max: maximum, step: 1 });
  const isQuoted = typeof data === 'string' && (type === 'integer' || type === 'number');
  return isQuoted ? `${ruleOf(violation)}, not a string` : ruleOf(violation);
}

type ObjectSchema = {
  readonly properties?: { readonly [name: string]: { readonly type?: unknown } };
  readonly required?: readonly string[];
};

function optionalOf(schema: TSchema): string[] {
  const { properties = {}, required = [] }: ObjectSchema = schema;
  return Object.keys(properties).filter((name) => !required.includes(name));
}

function propertiesOf(schema: TSchema, type: string): string[] {
  const { properties = {} }: ObjectSchema = schema;
  return Object.keys(properties).filter((name) => properties[name]?.type === type);
}
