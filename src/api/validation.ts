import { Ajv, type Options } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import type { TSchema } from 'typebox';
import { isPlainDate } from '../domain/calendar.ts';

const OPTIONS: Options = { allErrors: false, strict: true, strictTuples: false };

function validator(options: Options): Ajv {
  const ajv = new Ajv({ ...OPTIONS, ...options });
  ajv.addFormat('date', isPlainDate);
  // What a webhook's URL must be is a rule of its own, checked by the address guard with a reason in words.
  ajv.addFormat('uri', true);
  ajv.addFormat('date-time', true);
  return ajv;
}

/** Paths and queries are text, so `"5"` is the integer 5 there; in a JSON body it is a string, and wrong. */
const text = validator({ coerceTypes: true });
const json = validator({ coerceTypes: false });

export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) =>
  (httpPart === 'body' ? json : text).compile(schema);
