import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { checkerOf, pathOf, ruleOf, type Violation } from '../contract/schemas/validate.ts';
import { isObject } from '../domain/is-object.ts';
import { rangeRule } from '../domain/limits.ts';

/**
 * `null` in an optional member of a body counts as absent: many clients send it for everything that is not set.
 *
 * Path parameters are strings, so integers have to be converted, but only from the plain decimal form: `0x5`, `5e0` and ` 5` are
 * refused. In a JSON body, `"5"` is a string and not converted (docs/decisions/rest-api.md).
 */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart = 'request' }) => {
  const check = checkerOf(schema);
  const integers = httpPart === 'params' ? integersOf(schema) : [];
  const optional = httpPart === 'body' ? optionalOf(schema) : [];
  return (value: Record<string, unknown>) => {
    for (const name of optional) if (isObject(value) && value[name] === null) delete value[name];
    for (const name of integers) {
      const text = value[name];
      if (typeof text === 'string' && /^(?:0|[1-9]\d*)$/.test(text)) value[name] = Number(text);
    }
    const checked = check(value);
    // True instead of the value: Fastify would otherwise copy the headers each time they are read.
    if ('value' in checked) return true;
    const [first] = checked.violations;
    return {
      error: new Error(first === undefined ? `The ${httpPart} is invalid.` : `${sentenceOf(first, httpPart)}.`),
    };
  };
};

/** Names the invalid field and its rule: `startHour must be a whole number, 0 to 23`. */
function sentenceOf(violation: Violation, httpPart: string): string {
  const { keyword, params } = violation;
  const path = pathOf(violation);
  if (keyword === 'type' && path === '' && httpPart === 'body') return 'A body is required: a JSON object';
  if (keyword === 'required') return `${path === '' ? '' : `${path}.`}${params.missingProperty} is required`;
  return `${path === '' ? httpPart : path} ${ruleIn(violation, httpPart)}`;
}

function ruleIn(violation: Violation, httpPart: string): string {
  const { keyword, data, parentSchema = {} } = violation;
  const { type, minimum, maximum }: { [keyword: string]: unknown } = parentSchema;
  if (keyword !== 'type') return ruleOf(violation);
  if (httpPart === 'querystring' && Array.isArray(data)) return 'must be given only once';
  // Every path parameter is text, so name the range instead of the type.
  if (httpPart === 'params' && type === 'integer' && typeof minimum === 'number' && typeof maximum === 'number')
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

function integersOf(schema: TSchema): string[] {
  const { properties = {} }: ObjectSchema = schema;
  return Object.keys(properties).filter((name) => properties[name]?.type === 'integer');
}
