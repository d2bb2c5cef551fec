import type { Resources } from '../auth/resources.ts';
import { MCP_SCOPE, OFFLINE_SCOPE } from '../auth/scopes.ts';

/** What the request of a client is completed from. */
export type RequestingClient = {
  /** Whether it registered the grant `refresh_token`. */
  readonly mayRefresh: boolean;
};

/**
 * Completes an authorization request with what its client left out (docs/decisions/oauth-resources.md). Parameters that were sent
 * twice are left alone: oidc-provider refuses them.
 *
 * @param client undefined if the client is not known; oidc-provider refuses the request then
 */
export function completeAuthorization(
  parameters: URLSearchParams,
  { resources, client }: { readonly resources: Resources; readonly client: RequestingClient | undefined },
): void {
  if (['scope', 'prompt', 'resource'].some((name) => parameters.getAll(name).length > 1)) return;
  const scopes = new Set(scopesOf(parameters.get('scope')));
  const forMcp = parameters.get('resource') === resources.mcp.uri;
  if (scopes.size === 0 && forMcp) scopes.add(MCP_SCOPE);
  const prompts = new Set(scopesOf(parameters.get('prompt')));
  // Without a user, nothing that needs consent can be added.
  const asksUser = !prompts.has('none');
  // Assistants are used for weeks, and MCP clients ask for exactly the scope of the challenge (docs/decisions/mcp.md).
  if (forMcp && scopes.has(MCP_SCOPE) && asksUser && client?.mayRefresh) scopes.add(OFFLINE_SCOPE);
  // OpenID Connect requires prompt=consent for offline_access; without it oidc-provider drops the scope.
  if (scopes.has(OFFLINE_SCOPE) && asksUser) prompts.add('consent');
  setList(parameters, 'scope', scopes);
  setList(parameters, 'prompt', prompts);
}

const scopesOf = (list: string | null) => (list === null ? [] : list.split(' ').filter((name) => name !== ''));

function setList(parameters: URLSearchParams, name: string, values: ReadonlySet<string>) {
  if (values.size > 0) parameters.set(name, [...values].join(' '));
}
