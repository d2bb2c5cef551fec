import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { AccessTokens } from '../auth/access-tokens.ts';
import type { Resources } from '../auth/resources.ts';
import { AUDIENCE_SCOPES, MCP_SCOPE } from '../auth/scopes.ts';
import { PATHS } from './paths.ts';

/** A request as it came in: the body read, the URL raw. */
type Incoming = {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
};

export type RequestRewriting = {
  /** The request as oidc-provider gets to see it. */
  rewrite(incoming: Incoming): Promise<IncomingMessage>;
};

const FORM = 'application/x-www-form-urlencoded';

/**
 * Between HTTP and oidc-provider. Resources get the absolute URIs it asks for, JWT access tokens become the ids they
 * are stored under (it refuses structured tokens at introspection and revocation), and the host that it builds URLs
 * from is always the issuer's, whatever `Host` or `X-Forwarded-*` say.
 */
export function createRequestRewriting(options: {
  issuer: string;
  resources: Resources;
  accessTokens: AccessTokens;
}): RequestRewriting {
  const issuer = new URL(options.issuer);
  const { resources, accessTokens } = options;

  /** Two values of `resource` that mean the same become one; one that nobody knows stays, to be refused. */
  function nameResources(parameters: URLSearchParams) {
    const named = new Set(parameters.getAll('resource').map((name) => resources.named(name)?.uri ?? name));
    parameters.delete('resource');
    for (const uri of named) parameters.append('resource', uri);
  }

  function completeAuthorization(parameters: URLSearchParams) {
    if (!parameters.has('scope') && parameters.get('resource') === resources.mcp.uri)
      parameters.set('scope', MCP_SCOPE);
    // OpenID Connect wants the user asked before an app may act in their absence; without it the scope is dropped.
    const scopes = parameters.get('scope')?.split(' ') ?? [];
    if (scopes.includes('offline_access') && !parameters.has('prompt')) parameters.set('prompt', 'consent');
  }

  function completeTokenRequest(parameters: URLSearchParams) {
    if (parameters.get('grant_type') !== 'client_credentials' || parameters.has('scope')) return;
    const resource = resources.named(parameters.get('resource') ?? '');
    if (resource !== undefined) parameters.set('scope', AUDIENCE_SCOPES[resource.audience].join(' '));
  }

  async function storedId(token: string): Promise<string> {
    return looksLikeJwt(token) ? ((await accessTokens.storedId(token)) ?? UNKNOWN) : token;
  }

  async function rewriteForm(path: string, body: Buffer): Promise<Buffer> {
    const parameters = new URLSearchParams(body.toString('utf8'));
    nameResources(parameters);
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

  return {
    async rewrite({ method, url, headers: given, body: raw }) {
      const [path = '', query] = split(url);
      const headers = withoutForwarding(given);
      headers.host = issuer.host;
      headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1);
      if (path === PATHS.userinfo && headers.authorization !== undefined)
        headers.authorization = await bearer(headers.authorization);

      let target = url;
      if (path === PATHS.authorization && query !== undefined) {
        const parameters = new URLSearchParams(query);
        nameResources(parameters);
        completeAuthorization(parameters);
        target = `${path}?${parameters}`;
      }
      let body = raw;
      if (isForm(headers['content-type'])) {
        body = await rewriteForm(path, raw);
        headers['content-length'] = String(body.length);
        delete headers['transfer-encoding'];
      }
      return message({ method, url: target, headers, body });
    },
  };
}

/** A token that nobody has: introspection says inactive, revocation has nothing to do, userinfo refuses. */
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
  const kept: NodeJS.Dict<string> = {};
  for (const [name, value] of Object.entries(headers))
    if (name !== 'forwarded' && !name.startsWith('x-forwarded-') && value !== undefined)
      kept[name] = Array.isArray(value) ? value.join(', ') : value;
  return kept;
}

/** A message of its own, because the body of the real one has been read; its socket leads nowhere. */
function message({ method, url, headers, body }: Incoming): IncomingMessage {
  const rewritten = new IncomingMessage(new Socket());
  rewritten.method = method;
  rewritten.url = url;
  rewritten.headers = headers;
  rewritten.httpVersion = '1.1';
  rewritten.push(body);
  rewritten.push(null);
  rewritten.complete = true;
  return rewritten;
}
