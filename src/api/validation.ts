import { Ajv } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { IsInteger, IsObject, type TSchema } from 'typebox';
import { isPlainDate } from '../domain/calendar.ts';

const ajv = new Ajv({ allErrors: false, strict: true, strictTuples: false });
ajv.addFormat('date', isPlainDate);
// What a webhook's URL must be is a rule of its own, checked by the address guard with a reason in words.
ajv.addFormat('uri', true);
ajv.addFormat('date-time', true);

/**
 * Paths are text, so `5` is the integer 5 there, and only that: `0x5`, `5e0` and ` 5` are other texts. In a JSON body `"5"` is a
 * string, and wrong.
 */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const validate = ajv.compile(schema);
  const integers = httpPart === 'params' ? integersOf(schema) : [];
  if (integers.length === 0) return validate;
  return (params: Record<string, unknown>) => {
    for (const name of integers) {
      const text = params[name];
      if (typeof text === 'string' && /^(?:0|[1-9]\d*)$/.test(text)) params[name] = Number(text);
    }
    return validate(params) ? { value: params } : { error: validate.errors ?? [] };
  };
};

const integersOf = (schema: TSchema): string[] =>
  IsObject(schema) ? Object.keys(schema.properties).filter((name) => IsInteger(schema.properties[name])) : [];
