import { AUDIENCE_SCOPES, type Audience, IDENTITY_SCOPES } from './scopes.ts';

/** A resource that tokens are issued for, identified by an absolute URI (RFC 8707). */
export type Resource = { readonly audience: Audience; readonly uri: string; readonly scope: string };

export type Resources = {
  readonly api: Resource;
  readonly mcp: Resource;
  /** Finds a resource by `api`, `mcp`, or its absolute URI with or without a trailing slash. */
  named(name: string): Resource | undefined;
};

export function resourcesOf(publicUrl: string): Resources {
  // Each resource includes the identity scopes, so that its tokens can be used at the userinfo endpoint.
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

/** The same resource under the address with a slash at its end, which clients use as well. Its metadata must repeat it (RFC 9728, 3.3). */
export const withSlash = (resource: Resource): Resource => ({ ...resource, uri: `${resource.uri}/` });

/** The path of a resource's metadata (RFC 9728): its own path after the well-known prefix. */
export const metadataPathOf = ({ uri }: Resource): string =>
  `/.well-known/oauth-protected-resource${new URL(uri).pathname}`;

/**
 * The `WWW-Authenticate` challenge of a 401, which points a client to the resource's metadata and thus to the authorization
 * server. With `scope`, it also says which scope to request.
 */
export function challengeOf(resource: Resource, scope?: string): string {
  const metadata = `Bearer resource_metadata="${new URL(metadataPathOf(resource), resource.uri)}"`;
  return scope === undefined ? metadata : `${metadata}, scope="${scope}"`;
}
