import { AUDIENCE_SCOPES, type Audience, IDENTITY_SCOPES } from './scopes.ts';

/** Something tokens are issued for, as RFC 8707 names it: by an absolute URI. */
export type Resource = { readonly audience: Audience; readonly uri: string; readonly scope: string };

export interface Resources {
  /** Where the REST API is; the MCP server. */
  readonly api: Resource;
  readonly mcp: Resource;
  /** The resource that a client means: `api`, `mcp`, or the absolute URI with or without a slash at its end. */
  named(name: string): Resource | undefined;
}

export function resourcesOf(publicUrl: string): Resources {
  // The identity scopes are of each resource too, so that its tokens may be shown to userinfo.
  const resource = (audience: Audience, path: string): Resource => ({
    audience,
    uri: `${publicUrl}${path}`,
    scope: [...IDENTITY_SCOPES, ...AUDIENCE_SCOPES[audience]].join(' '),
  });
  const api = resource('api', '/api/v1');
  const mcp = resource('mcp', '/mcp');
  return {
    api,
    mcp,
    named: (name) => [api, mcp].find(({ audience, uri }) => name === audience || name === uri || name === `${uri}/`),
  };
}
