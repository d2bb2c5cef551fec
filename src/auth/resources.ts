import { AUDIENCE_SCOPES, type Audience, IDENTITY_SCOPES } from './scopes.ts';

/** Something tokens are issued for, as RFC 8707 names it: by an absolute URI. */
export type Resource = { readonly audience: Audience; readonly uri: string; readonly scope: string };

export type Resources = {
  /** Where the REST API is; the MCP server. */
  readonly api: Resource;
  readonly mcp: Resource;
  /** The resource that a client means: `api`, `mcp`, or the absolute URI with or without a slash at its end. */
  named(name: string): Resource | undefined;
};

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

/** Where the metadata of a resource is (RFC 9728): its own path, behind the well-known prefix. */
export const metadataPathOf = ({ uri }: Resource): string =>
  `/.well-known/oauth-protected-resource${new URL(uri).pathname}`;

/**
 * The challenge of a 401: tells a client where to learn which authorization server to ask. With `scope`, also what to
 * ask it for.
 */
export function challengeOf(resource: Resource, scope?: string): string {
  const metadata = `Bearer resource_metadata="${new URL(metadataPathOf(resource), resource.uri)}"`;
  return scope === undefined ? metadata : `${metadata}, scope="${scope}"`;
}
