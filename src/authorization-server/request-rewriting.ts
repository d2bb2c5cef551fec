import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { AccessTokens } from '../auth/access-tokens.ts';
import type { Resources } from '../auth/resources.ts';
import { AUDIENCE_SCOPES, isKnownScope } from '../auth/scopes.ts';
import { isObject } from '../domain/is-object.ts';
import { nodeHttp } from '../http/node-http.ts';
import { PATHS } from './paths.ts';
import { reduceRegistration } from './reduced-metadata.ts';

/** An incoming request with its body read and its URL unparsed. */
type Incoming = {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
};

/** Returns the request for oidc-provider. */
export type RewriteRequest = (incoming: Incoming) => Promise<IncomingMessage>;

const FORM = 'application/x-www-form-urlencoded';

/**
 * Adapts requests for oidc-provider (docs/decisions/oauth.md, docs/decisions/credentials.md). Resources become
 * the absolute URIs it requires, metadata what a client can get, JWT access tokens the ids they are stored under (it rejects structured tokens at introspection
 * and revocation), and the host it builds URLs from is always the issuer's, never that of `Host` or `X-Forwarded-*`.
 */
export function createRequestRewriting(deps: {
  issuer: string;
  resources: Resources;
  accessTokens: AccessTokens;
}): RewriteRequest {
  const issuer = new URL(deps.issuer);
  const { resources, accessTokens } = deps;

  /** Equivalent values of `resource` collapse into one. Unknown ones stay, and oidc-provider refuses them. */
  function resolveResources(parameters: URLSearchParams) {
    const uris = new Set(parameters.getAll('resource').map((name) => resources.named(name)?.uri ?? name));
    parameters.delete('resource');
    for (const uri of uris) parameters.append('resource', uri);
  }

  function completeTokenRequest(parameters: URLSearchParams) {
    const scopes = parameters.get('scope')?.split(' ') ?? [];
    const supported = scopes.filter((scope) => isKnownScope(scope));
    if (supported.length > 0) parameters.set('scope', supported.join(' '));
    if (parameters.get('grant_type') !== 'client_credentials' || parameters.has('scope')) return;
    const resource = resources.named(parameters.get('resource') ?? '');
    if (resource !== undefined) parameters.set('scope', AUDIENCE_SCOPES[resource.audience].join(' '));
  }

  async function storedId(token: string): Promise<string> {
    return looksLikeJwt(token) ? ((await accessTokens.storedId(token)) ?? UNKNOWN) : token;
  }

  async function rewriteForm(path: string, body: Buffer, publicClient: string | undefined): Promise<Buffer> {
    const parameters = parametersIn(body.toString('utf8'));
    if (publicClient !== undefined && !parameters.has('client_id')) parameters.set('client_id', publicClient);
    resolveResources(parameters);
    if (path === PATHS.token) completeTokenRequest(parameters);
    const tokenField = TOKEN_FIELD[path];
    const token = tokenField === undefined ? null : parameters.get(tokenField);
    if (tokenField !== undefined && token !== null && parameters.getAll(tokenField).length === 1)
      parameters.set(tokenField, await storedId(token));
    return Buffer.from(parameters.toString());
  }

  async function bearer(authorization: string): Promise<string> {
    const match = /^Bearer ([^ ]+)$/i.exec(authorization);
    return match?.[1] === undefined ? authorization : `Bearer ${await storedId(match[1])}`;
  }

  return async ({ method, url, headers: originalHeaders, body: originalBody }) => {
    const [path = '', query] = split(url);
    const headers = withoutForwarding(originalHeaders);
    headers.host = issuer.host;
    headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1);
    if (path === PATHS.userinfo && headers.authorization !== undefined)
      headers.authorization = await bearer(headers.authorization);

    // These are called by programs, some of which prefer HTML: Java's HttpURLConnection by default.
    if (CALLED_BY_PROGRAMS.has(path)) headers.accept = 'application/json';
    const publicClient = clientWithoutSecret(headers.authorization);
    if (publicClient !== undefined) delete headers.authorization;

    let target = url;
    if (BROWSER_ENDPOINTS.has(path) && query !== undefined) {
      const parameters = parametersIn(query);
      resolveResources(parameters);
      target = `${path}?${parameters}`;
    }
    let body = originalBody;
    const rewritten = path === PATHS.registration ? rewriteMetadata(originalBody) : undefined;
    if (rewritten !== undefined || isForm(headers['content-type'])) {
      body = rewritten ?? (await rewriteForm(path, originalBody, publicClient));
      headers['content-length'] = String(body.length);
      delete headers['transfer-encoding'];
    }
    return message({ method, url: target, headers, body });
  };
}

const CALLED_BY_PROGRAMS: ReadonlySet<string> = new Set([
  PATHS.token,
  PATHS.registration,
  PATHS.revocation,
  PATHS.introspection,
  PATHS.userinfo,
]);

/** The client of an `Authorization: Basic` with an empty password: libraries send a public client's id so. */
function clientWithoutSecret(authorization: string | undefined): string | undefined {
  const [, encoded] = /^Basic ([A-Za-z0-9+/=]{1,4096})$/i.exec(authorization ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  if (text.length < 2 || text.indexOf(':') !== text.length - 1) return undefined;
  // The id is form-encoded (RFC 6749, 2.3.1).
  return new URLSearchParams(`id=${text.slice(0, -1)}`).get('id') ?? undefined;
}

const BROWSER_ENDPOINTS: ReadonlySet<string> = new Set([PATHS.authorization, PATHS.logout]);

/** Parameters without a value count as omitted (RFC 6749, 3.1 and 3.2). Clients send `scope=` and `resource=`. */
const parametersIn = (text: string) =>
  new URLSearchParams([...new URLSearchParams(text)].filter(([, value]) => value !== ''));

/** Reduces the metadata of a registration. Undefined for anything but a JSON object, which oidc-provider refuses. */
function rewriteMetadata(body: Buffer): Buffer | undefined {
  try {
    const metadata: unknown = JSON.parse(body.toString('utf8'));
    return isObject(metadata) ? Buffer.from(JSON.stringify(reduceRegistration(metadata))) : undefined;
  } catch {
    return undefined;
  }
}

/** An id that no token has: introspection answers inactive, revocation does nothing, userinfo refuses. */
const UNKNOWN = 'unknown';

const TOKEN_FIELD: Readonly<Record<string, string>> = {
  [PATHS.introspection]: 'token',
  [PATHS.revocation]: 'token',
  [PATHS.userinfo]: 'access_token',
};

const looksLikeJwt = (token: string) => token.split('.').length === 3;
const isForm = (contentType: string | undefined) => contentType?.split(';')[0]?.trim().toLowerCase() === FORM;

function split(url: string): [path: string, query?: string] {
  const at = url.indexOf('?');
  return at === -1 ? [url] : [url.slice(0, at), url.slice(at + 1)];
}

function withoutForwarding(headers: Incoming['headers']): NodeJS.Dict<string> {
  const rest: NodeJS.Dict<string> = {};
  for (const [name, value] of Object.entries(headers))
    if (name !== 'forwarded' && !name.startsWith('x-forwarded-') && value !== undefined)
      rest[name] = Array.isArray(value) ? value.join(', ') : value;
  return rest;
}

/** Builds a new message, because the body of the original has already been read. Its socket is not connected. */
function message({ method, url, headers, body }: Incoming): IncomingMessage {
  const rewritten = new nodeHttp.IncomingMessage(new Socket());
  rewritten.method = method;
  rewritten.url = url;
  rewritten.headers = headers;
  rewritten.httpVersion = '1.1';
  rewritten.push(body);
  rewritten.push(null);
  rewritten.complete = true;
  return rewritten;
}
