import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { metadataPathOf, type Resources, withSlash } from '../auth/resources.ts';
import { AUDIENCE_SCOPES } from '../auth/scopes.ts';

/** Protected resource metadata (RFC 9728) of the REST API and the MCP server. */
export function protectedResourceRoutes(
  app: FastifyInstance,
  { issuer, resources }: { issuer: string; resources: Resources },
): void {
  for (const resource of [resources.api, resources.mcp].flatMap((each) => [each, withSlash(each)])) {
    const metadata = {
      resource: resource.uri,
      authorization_servers: [issuer],
      scopes_supported: AUDIENCE_SCOPES[resource.audience],
      bearer_methods_supported: ['header'],
      resource_name: resource.audience === 'api' ? 'Venue Booking REST API' : 'Venue Booking MCP server',
      resource_documentation: `${issuer}/docs`,
    };
    answerPreflights(app, [metadataPathOf(resource)]);
    app.get(metadataPathOf(resource), (_request, reply) =>
      reply.header('access-control-allow-origin', '*').header('cache-control', 'public, max-age=3600').send(metadata),
    );
  }
}

/** Answers CORS preflights, and OPTIONS without their headers: any origin may call, with any headers. */
export function answerPreflights(app: FastifyInstance, paths: readonly string[]): void {
  const answer = async (_request: FastifyRequest, reply: FastifyReply) =>
    reply.code(204).headers(CORS_PREFLIGHT).send();
  // Before anything that they carry is read.
  for (const path of paths) app.options(path, { onRequest: answer, handler: answer });
}

const CORS_PREFLIGHT = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST',
  // The asterisk does not include Authorization (Fetch, 4.9).
  'access-control-allow-headers': 'authorization, *',
  'access-control-max-age': '3600',
} as const;
