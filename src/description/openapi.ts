import type { TObject, TSchema } from 'typebox';
import type { Access } from '../auth/access.ts';
import { ERROR_STATUS, type ErrorCode } from '../contract/schemas/errors.ts';
import { keysOf } from '../domain/keys-of.ts';
import { Permission, scopesGranting } from '../domain/permissions.ts';
import { type Components, createComponents, type JsonSchema } from './components.ts';
import { describeDeliveries } from './deliveries.ts';
import type { Operation, Parameter, Response } from './document.ts';
import { type Examples, type OperationExamples, readExamples } from './examples.ts';
import { ERROR_MEANING, guide } from './guide.ts';
import { OPERATIONS, type OperationId } from './operations.ts';
import { SECURITY, securitySchemes } from './security.ts';
import { baseUrlOf, PREFIX, type Settings } from './settings.ts';

/** The schema of a response's body, with its `headers` as a further property, as in Fastify. */
type Answer = TSchema & { readonly headers?: { readonly [name: string]: object } };

/** The schemas of a route that is described, which validate its requests and serialise its responses. */
export type DescribedSchema = {
  readonly operationId: OperationId;
  readonly params?: TObject;
  readonly querystring?: TObject;
  readonly headers?: TObject;
  readonly body?: TSchema;
  readonly response: { readonly [status: string]: Answer };
};

export type DescribedRoute = DescribedSchema & {
  readonly method: string;
  /** With the prefix, and `:name` for parameters. */
  readonly url: string;
  readonly access: Access;
};

/** Builds the OpenAPI 3.1 description of the API. */
export function describeApi(routes: readonly DescribedRoute[], settings: Settings) {
  const examples = readExamples();
  const components = createComponents();
  const order = keysOf(OPERATIONS);
  const paths: Record<string, Record<string, Operation>> = {};
  for (const route of routes.toSorted((a, b) => order.indexOf(a.operationId) - order.indexOf(b.operationId))) {
    const path = route.url.slice(PREFIX.length).replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(route, components, examples) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Venue Booking Service',
      version: '1',
      summary: 'Spaces and their availability, booking requests, reviews and webhooks.',
      description: guide('overview', settings, examples),
      contact: { name: 'Venue Booking Service', url: settings.publicUrl },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    externalDocs: { description: 'The same as a page', url: `${settings.publicUrl}/docs` },
    servers: [{ url: baseUrlOf(settings), description: 'This service' }],
    tags: [
      { name: 'Spaces', description: guide('spaces', settings, examples) },
      { name: 'Bookings', description: guide('bookings', settings, examples) },
      { name: 'Customers', description: guide('customers', settings, examples) },
      { name: 'Reviews', description: guide('reviews', settings, examples) },
      { name: 'Webhooks', description: guide('webhooks', settings, examples) },
      { name: 'Deliveries', description: guide('deliveries', settings, examples) },
    ],
    paths,
    webhooks: describeDeliveries(components, examples),
    components: { schemas: components.schemas, securitySchemes: securitySchemes(settings) },
  };
}

export type ApiDescription = ReturnType<typeof describeApi>;

function describeOperation(route: DescribedRoute, components: Components, examples: Examples): Operation {
  const { operationId, access } = route;
  const { tag, summary, description } = OPERATIONS[operationId];
  const recorded = examples.operations[operationId];
  if (recorded === undefined) throw new Error(`There are no examples of ${operationId}`);
  const parameters = [
    ...parametersOf('path', route.params, components, recorded),
    ...parametersOf('query', route.querystring, components, recorded),
    ...parametersOf('header', route.headers, components, recorded),
  ];
  const { permission } = access;
  const needs = `Needs the permission \`${permission}\` (${Permission[permission]})`;
  const scopes = scopesGranting(permission).join(' ');
  const account = access.scope === undefined ? '' : `, and an account of the kind ${access.scope}`;
  return {
    operationId,
    tags: [tag],
    summary,
    description: `${description}\n\n${needs}, which the scope \`${scopes}\` grants${account}.`,
    'x-permission': permission,
    security: SECURITY,
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: components.refer(route.body), examples: recorded.requests } },
      },
    }),
    responses: Object.fromEntries(
      Object.entries(route.response).map(([status, schema]) => [
        status,
        describeResponse(Number(status), schema, route, components, recorded),
      ]),
    ),
  };
}

function parametersOf(
  location: Parameter['in'],
  of: TObject | undefined,
  { refer }: Components,
  { parameters }: OperationExamples,
): readonly Parameter[] {
  const required: readonly string[] = of?.required ?? [];
  return Object.entries(of?.properties ?? {}).map(([name, property]) => {
    const { description, ...schema }: JsonSchema = { ...property };
    const recorded = parameters[name];
    // One that may be repeated.
    const example = schema.type === 'array' && recorded !== undefined ? [recorded] : recorded;
    return {
      name: location === 'header' ? headerName(name) : name,
      in: location,
      required: required.includes(name),
      ...(typeof description === 'string' && { description }),
      schema: refer('title' in schema ? property : schema),
      ...(example !== undefined && { example }),
    };
  });
}

/** As headers are usually written: If-None-Match. */
const headerName = (name: string): string => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());

function describeResponse(
  status: number,
  { headers = {}, ...body }: Answer,
  { operationId, access }: DescribedRoute,
  { refer }: Components,
  recorded: OperationExamples,
): Response {
  const { success, failures = {} }: { success: string; failures?: Readonly<Record<number, string>> } =
    OPERATIONS[operationId];
  const allHeaders = { ...headersOf(headers), ...FAILURE_HEADERS[status], ...REQUEST_ID };
  const examples = recorded.responses[status];
  const schema: JsonSchema = { ...body };
  const hasBody = schema.type !== 'null';
  if (hasBody && examples === undefined) throw new Error(`There is no example of ${operationId} with ${status}`);
  return {
    description: status >= 400 ? (failures[status] ?? codesOf(status, access)) : status === 304 ? UNCHANGED : success,
    headers: allHeaders,
    ...(hasBody && { content: { 'application/json': { schema: refer(schema), examples } } }),
  };
}

const UNCHANGED = 'What you have is current.';

/** The error codes that an operation answers with a status, and what they mean. */
function codesOf(status: number, { scope }: Access): string {
  const codes = keysOf(ERROR_STATUS).filter((code: ErrorCode) => ERROR_STATUS[code] === status);
  return codes
    .filter((code) => code !== 'ScopeViolation' || scope !== undefined)
    .map((code) => `\`${code}\`: ${ERROR_MEANING[code]}.`)
    .join(' ');
}

const headersOf = (headers: { readonly [name: string]: object }) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, header]) => {
      const { description, ...schema }: JsonSchema = { ...header };
      return [name, { description, schema }];
    }),
  );

/** A header of every response. */
const REQUEST_ID = {
  'X-Request-Id': {
    description: 'Identifies the request in the log of the service, and in the record of what it changed.',
    schema: { type: 'string' },
  },
};

/** Headers of failures, by status. */
const FAILURE_HEADERS: { readonly [status: number]: { readonly [name: string]: JsonSchema } } = {
  401: {
    'WWW-Authenticate': {
      description:
        'The challenge (RFC 9728): where the metadata of this resource is, and with it the authorization server.',
      schema: { type: 'string' },
    },
  },
  403: {
    'WWW-Authenticate': {
      description: 'Present if an access token lacks a scope: the scope to ask for (RFC 6750).',
      schema: { type: 'string' },
    },
  },
  500: {
    'Retry-After': {
      description: 'Seconds to wait before trying again; present if the cause is known to pass.',
      schema: { type: 'integer', minimum: 1 },
    },
  },
};
