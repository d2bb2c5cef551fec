import document from '../../docs/openapi.json' with { type: 'json' };
import type { Browser } from '../browser.ts';
import { encoded, form, JSON_TYPE, multipart, objectOf, type Place, pairsOf, type Values } from './place.ts';

type Schema = {
  readonly $ref?: string;
  readonly type?: unknown;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
};

/** A value that a schema allows, more or less. */
function usualOf(schema: Schema, tomorrow: string): unknown {
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (schema.anyOf?.[0] !== undefined) return usualOf(schema.anyOf[0], tomorrow);
  if (schema.type === 'integer' || schema.type === 'number') return 1;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'array') return [usualOf(schema.items ?? {}, tomorrow)];
  if (schema.type === 'object') return objectOf(usualOfEach(schema, tomorrow));
  if (schema.format === 'date') return tomorrow;
  if (schema.format === 'date-time') return `${tomorrow}T12:00:00Z`;
  return schema.format === 'uri' ? 'http://127.0.0.1:9/hook' : 'text';
}

const usualOfEach = ({ properties = {} }: Schema, tomorrow: string): Values =>
  Object.entries(properties).map(([name, schema]) => [name, usualOf(schema, tomorrow)] as const);

type Parameter = { readonly name: string; readonly in: string; readonly schema: Schema };
type Operation = {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
};

/** The operations of the REST API, by its own description. */
export function restPlaces(senders: readonly string[], tomorrow: string): readonly Place[] {
  const schemas: Readonly<Record<string, Schema>> = document.components.schemas as Readonly<Record<string, Schema>>;
  const resolved = (schema: Schema): Schema => schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;
  const paths = document.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return operations.flatMap(({ path, method, operation }) => {
    const { parameters = [], requestBody } = operation;
    const body = requestBody && usualOfEach(resolved(requestBody.content['application/json'].schema), tomorrow);
    const places = new Map(parameters.map((one) => [one.name, one.in]));
    const usual = [...parameters.map((one) => [one.name, usualOf(one.schema, tomorrow)] as const), ...(body ?? [])];
    const request = (values: Values) => {
      const of = (where: string | undefined) => values.filter(([name]) => places.get(name) === where);
      const filled = of('path').reduce((url, [name, value]) => url.replace(`{${name}}`, encoded(value)), path);
      // What no parameter is called goes into the body, or else into the address.
      const query = pairsOf([...of('query'), ...(body === undefined ? of(undefined) : [])]);
      return {
        method,
        path: `/api/v1${filled.replaceAll(/[{}]/g, '')}${query === '' ? '' : `?${query}`}`,
        headers: { ...headersOf(of('header')), ...(body !== undefined && JSON_TYPE) },
        ...(body !== undefined && { body: JSON.stringify(objectOf(of(undefined))) }),
      };
    };
    return senders.map((sender): Place => ({ name: `${method} ${path}`, sender, usual, request }));
  });
}

const headersOf = (values: Values) =>
  Object.fromEntries(values.map(([name, value]) => [name.toLowerCase(), encoded(value)]));

type Tool = { readonly name: string; readonly inputSchema: Schema };

/** The tools of the MCP server, by its own list. */
export const toolPlaces = (sender: string, tools: readonly Tool[], tomorrow: string): readonly Place[] =>
  tools.map(
    ({ name, inputSchema }): Place => ({
      name: `tool ${name}`,
      sender,
      usual: usualOfEach(inputSchema, tomorrow),
      request: (values) => ({
        method: 'POST',
        path: '/mcp',
        headers: { ...JSON_TYPE, accept: 'application/json, text/event-stream' },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: objectOf(values) },
        }),
      }),
    }),
  );

/** The endpoints of the authorization server that take a request without a session, with the parameters of their standards. */
export function oauthPlaces(sender: string, clientId: string): readonly Place[] {
  const client = { client_id: clientId, resource: 'api', scope: 'openid service.api.read' };
  const token = { ...client, redirect_uri: 'http://127.0.0.1:9/callback', code: 'code', code_verifier: 'x'.repeat(43) };
  const forms: Readonly<Record<string, object>> = {
    '/connect/token': { ...token, grant_type: 'authorization_code', refresh_token: 'token', client_secret: 'secret' },
    '/connect/revoke': { token: 'token', token_type_hint: 'access_token', client_id: clientId },
    '/connect/introspect': { token: 'token', token_type_hint: 'access_token', client_id: clientId },
  };
  const authorization = {
    ...client,
    response_type: 'code',
    redirect_uri: 'http://127.0.0.1:9/callback',
    code_challenge: 'x'.repeat(43),
    code_challenge_method: 'S256',
    state: 'state',
    nonce: 'nonce',
    prompt: 'login',
    max_age: '1',
    ui_locales: 'en',
    claims: '{}',
    request: 'x',
    request_uri: 'https://example.com/',
    login_hint: 'ada@example.com',
    id_token_hint: 'x',
    response_mode: 'query',
  };
  const registration = {
    client_name: 'App',
    redirect_uris: ['http://127.0.0.1:9/callback'],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    client_uri: 'https://example.com/',
    logo_uri: 'https://example.com/',
    contacts: ['ada@example.com'],
    scope: 'openid',
    jwks: { keys: [] },
    application_type: 'native',
  };
  return [
    ...Object.entries(forms).map(
      ([path, usual]): Place => ({
        name: `POST ${path}`,
        sender,
        usual: Object.entries(usual),
        request: (values) => form(path, values),
      }),
    ),
    {
      name: 'GET /connect/authorize',
      sender,
      usual: Object.entries(authorization),
      request: (values) => ({ method: 'GET', path: `/connect/authorize?${pairsOf(values)}`, headers: {} }),
    },
    {
      name: 'POST /connect/register',
      sender,
      usual: Object.entries(registration),
      request: (values) => ({
        method: 'POST',
        path: '/connect/register',
        headers: JSON_TYPE,
        body: JSON.stringify(objectOf(values)),
      }),
    },
  ];
}

/** Pages of one kind that are read: their forms are the same. */
const OF_A_KIND = 2;
const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll('&amp;', '&').replaceAll('&quot;', '"');
const kindOf = (path: string): string =>
  path.replaceAll(/\d+(-\d+)*|(?<=\/)[a-z]+_[\w-]{8,}|[0-9a-f-]{36}/g, '…').replaceAll(/=[^&]*/g, '=');

/**
 * The forms of the pages that a user reaches by links, and the queries of these links.
 * @param csrf of the current session of the user
 */
export async function formPlaces(sender: string, browser: Browser, csrf: () => string): Promise<readonly Place[]> {
  const places = new Map<string, Place>();
  const seen = new Map<string, number>();
  const waiting = ['/console', '/sign-up?space=1&date=2027-05-08&startHour=9&guests=4&message=x'];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const kind = kindOf(path);
    seen.set(kind, (seen.get(kind) ?? 0) + 1);
    if ((seen.get(kind) ?? 0) > OF_A_KIND) continue;
    const { status, text, url } = await browser.open(path);
    if (status !== 200 || !/^\/(?:console|sign-up)\b/.test(url.pathname)) continue;
    for (const place of formsOf(sender, csrf, text, url)) places.set(kindOf(place.name), place);
    const link = linkPlace(sender, url);
    if (link !== undefined) places.set(kindOf(link.name), link);
    for (const [, href = ''] of text.matchAll(/<a\b[^>]*\shref="([^"]+)"/g)) {
      const to = new URL(href.replaceAll('&amp;', '&'), url);
      if (to.origin === url.origin && to.pathname.startsWith('/console')) waiting.push(to.pathname + to.search);
    }
  }
  return [...places.values()];
}

function linkPlace(sender: string, { pathname, searchParams }: URL): Place | undefined {
  const usual = [...searchParams];
  if (usual.length === 0) return undefined;
  const request = (values: Values) => ({ method: 'GET', path: `${pathname}?${pairsOf(values)}`, headers: {} });
  return { name: `GET ${pathname}?${usual.map(([name]) => name).join('&')}`, sender, usual, request };
}

/** A form that ends the sign-in of its sender would leave nothing to send. */
const ENDS_SESSION = /\/sign-out$|\/your-account\/|\/password$/;

function formsOf(sender: string, csrf: () => string, html: string, page: URL): readonly Place[] {
  return [...html.matchAll(/<form\b[^>]*>.*?<\/form>/gs)].flatMap(([found]): Place[] => {
    const path = new URL(attribute(found, 'action') ?? '', page).pathname;
    if (ENDS_SESSION.test(path)) return [];
    const id = attribute(found, 'id');
    const outside = [...html.matchAll(/<(?:input|select|textarea|button)\b[^>]*>/g)].filter(
      ([tag]) => id !== undefined && attribute(tag, 'form') === id,
    );
    const tags = [...found.matchAll(/<(?:input|select|textarea|button)\b[^>]*>/g), ...outside].map(([tag]) => tag);
    const all = tags.flatMap((tag): Values => {
      const name = attribute(tag, 'name');
      return name === undefined ? [] : [[name, attribute(tag, 'value') ?? '1']];
    });
    // That one is always right, or nothing else would be looked at.
    const usual = all.filter(([name]) => name !== 'csrf');
    const files = new Set(
      tags.flatMap((tag) => (attribute(tag, 'type') === 'file' ? (attribute(tag, 'name') ?? []) : [])),
    );
    const isPost = /^<form\b[^>]*method="post"/.test(found);
    const names = [...new Set(usual.map(([name]) => name))].join('&');
    const request = (changed: Values) => {
      const values: Values = isPost ? [['csrf', csrf()], ...changed] : changed;
      if (!isPost) return { method: 'GET', path: `${path}?${pairsOf(values)}`, headers: {} };
      return files.size > 0 ? multipart(path, values, files) : form(path, values);
    };
    return [{ name: `${isPost ? 'POST' : 'GET'} ${path} (${names})`, sender, usual, request }];
  });
}
