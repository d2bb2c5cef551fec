import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import { isPlainDate } from '../../src/domain/calendar.ts';

export type Schema = { readonly [keyword: string]: unknown };

type Described = {
  readonly paths: Readonly<
    Record<
      string,
      Record<string, { readonly responses: Record<string, { readonly content?: Record<string, { schema: Schema }> }> }>
    >
  >;
};

/**
 * Checks values against schemas of an OpenAPI document. A field that a schema does not name is wrong, too: what an answer shows is what the
 * document says.
 * @returns what is wrong with a value
 */
export function createDescriptionCheck(document: string): (schema: Schema, value: unknown) => readonly unknown[] {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addFormat('date', isPlainDate);
  ajv.addFormat('date-time', /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
  ajv.addFormat('uri', URL.canParse);
  for (const width of ['int64', 'double']) ajv.addFormat(width, true);
  const closed = JSON.parse(document, (_, value) =>
    value?.type === 'object' && value.properties ? { additionalProperties: false, ...value } : value,
  );
  ajv.addSchema(closed, 'api');
  const validators = new Map<Schema, ValidateFunction>();
  const compiled = (schema: Schema) => ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')));
  return (schema, value) => {
    const validate = validators.getOrInsertComputed(schema, compiled);
    return validate(value) ? [] : (validate.errors ?? []);
  };
}

let ofDocs: ReturnType<typeof openDocs> | undefined;

function openDocs() {
  const document = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8');
  const { paths }: Described = JSON.parse(document);
  const routes = Object.entries(paths).map(([path, methods]) => ({
    pattern: new RegExp(`^/api/v1${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    methods,
  }));
  return { routes, check: createDescriptionCheck(document) };
}

/** Fails if an answer of the REST API is not as `docs/openapi.json` says. */
export function expectAsDescribed(method: string, url: string, answer: LightMyRequestResponse): void {
  ofDocs ??= openDocs();
  const { routes, check } = ofDocs;
  const [path = ''] = url.split('?', 1);
  const route = routes.find(({ pattern }) => pattern.test(path));
  const schema =
    route?.methods[method.toLowerCase()]?.responses[answer.statusCode]?.content?.['application/json']?.schema;
  if (schema !== undefined) expect(check(schema, answer.json()), `${method} ${path} ${answer.statusCode}`).toEqual([]);
}
