import { createRequire } from 'node:module';
import type * as FastJson from 'fast-json-stringify';
import type { FastifySerializerCompiler } from 'fastify';
import type { TSchema } from 'typebox';

const require = createRequire(import.meta.url);

/** Serialises values of a schema. Compiles it on first use, because compiling all schemas would take a tenth of the startup time. */
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
