import { createRequire } from 'node:module';
import type * as FastJson from 'fast-json-stringify';
import type { FastifySerializerCompiler } from 'fastify';
import type { TSchema } from 'typebox';

const require = createRequire(import.meta.url);

/**
 * A function that makes the JSON of what a schema describes. It is compiled when it is first called, and what compiles it is loaded
 * then: for all schemas that would be a tenth of a start.
 */
export function serializerOf(schema: TSchema): (value: unknown) => string {
  let stringify: ((value: unknown) => string) | undefined;
  return (value) => {
    stringify ??= compile(schema);
    return stringify(value);
  };
}

export const serializerCompiler: FastifySerializerCompiler<TSchema> = ({ schema }) => serializerOf(schema);

function compile(schema: TSchema): (value: unknown) => string {
  const { default: fastJson }: typeof FastJson = require('fast-json-stringify');
  return fastJson(schema);
}
