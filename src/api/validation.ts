import { Ajv } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import { IsInteger, IsObject, type TSchema } from 'typebox';
import { isPlainDate } from '../domain/calendar.ts';

const ajv = new Ajv({ allErrors: false, strict: true, strictTuples: false });
ajv.addFormat('date', isPlainDate);
// Webhook URLs are checked by the address guard, which explains what is wrong.
ajv.addFormat('uri', true);
ajv.addFormat('date-time', true);

/**
 * Path parameters are strings, so integers have to be converted, but only from the plain decimal form: `0x5`, `5e0` and ` 5` are
 * refused. In a JSON body, `"5"` is a string and not converted (docs/decisions/errors.md).
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
