import type { FastifyInstance } from 'fastify';
import type { Resource, Resources } from '../auth/resources.ts';
import { AUDIENCE_SCOPES } from '../auth/scopes.ts';

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

/** Metadata of the REST API and the MCP server as protected resources (RFC 9728). */
export function protectedResourceRoutes(
  app: FastifyInstance,
  { issuer, resources }: { issuer: string; resources: Resources },
): void {
  for (const resource of [resources.api, resources.mcp]) {
    const metadata = {
      resource: resource.uri,
      authorization_servers: [issuer],
      scopes_supported: AUDIENCE_SCOPES[resource.audience],
      bearer_methods_supported: ['header'],
      resource_name: resource.audience === 'api' ? 'Venue Booking REST API' : 'Venue Booking MCP server',
      resource_documentation: `${issuer}/docs`,
    };
    app.options(metadataPathOf(resource), (_request, reply) => reply.code(204).headers(CORS_PREFLIGHT).send());
    app.get(metadataPathOf(resource), (_request, reply) =>
      reply.header('access-control-allow-origin', '*').header('cache-control', 'public, max-age=3600').send(metadata),
    );
  }
}

/** Answers browsers that ask whether a client from elsewhere may read it: anybody may, with whatever headers it sends. */
export const CORS_PREFLIGHT = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': '*',
  'access-control-max-age': '3600',
} as const;
