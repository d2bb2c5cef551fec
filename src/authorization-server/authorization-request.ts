import type { Resources } from '../auth/resources.ts';
import {
  type Audience,
  DEFAULT_SCOPE,
  fittingScopes,
  isIdentityOnly,
  isKnownScope,
  MCP_SCOPE,
  OFFLINE_SCOPE,
  resourceOfScopes,
} from '../auth/scopes.ts';

/** The client metadata that completes a request. */
export type RequestingClient = {
  /** Whether it registered the grant `refresh_token`. */
  readonly mayRefresh: boolean;
  /** The scopes that it registered, if any. */
  readonly scope: string | undefined;
};

/**
 * Fills in parameters that the client left out of an authorization request, and drops scopes that the resource does not have
 * (docs/decisions/oauth.md). Requests that remain incomplete, and parameters sent twice, are refused later.
 * @param client undefined for an unknown client, whose request oidc-provider refuses
 */
export function completeAuthorization(
  parameters: URLSearchParams,
  { resources, client }: { readonly resources: Resources; readonly client: RequestingClient | undefined },
): void {
  if (['scope', 'prompt', 'resource'].some((name) => parameters.getAll(name).length > 1)) return;
  const registered = wordsOf(client?.scope).filter((scope) => scope !== OFFLINE_SCOPE);
  const requested = parameters.has('scope') ? wordsOf(parameters.get('scope')) : undefined;
  // The sign-in page is where a user chooses another account.
  const prompts = new Set(
    wordsOf(parameters.get('prompt')).map((prompt) => (prompt === 'select_account' ? 'login' : prompt)),
  );
  setList(parameters, 'prompt', prompts);
  const scopes = requestedScopes(parameters, { resources, requested, registered });
  if (scopes === undefined) return;

  // Without a user there is no consent.
  const asksUser = !prompts.has('none');
  // Assistants stay connected for weeks, but MCP clients request exactly the scope of the challenge (docs/decisions/oauth.md).
  if (scopes.has(MCP_SCOPE) && asksUser && client?.mayRefresh) scopes.add(OFFLINE_SCOPE);
  // OpenID Connect requires prompt=consent for offline_access; without it oidc-provider drops the scope.
  if (scopes.has(OFFLINE_SCOPE) && asksUser) prompts.add('consent');
  setList(parameters, 'scope', scopes);
  setList(parameters, 'prompt', prompts);
}

/** The scopes of a request. Names its resource if it named none and only one can be meant. Undefined if it must be refused. */
function requestedScopes(
  parameters: URLSearchParams,
  request: {
    readonly resources: Resources;
    readonly requested: readonly string[] | undefined;
    readonly registered: readonly string[];
  },
): Set<string> | undefined {
  const { resources, requested, registered } = request;
  const named = parameters.get('resource');
  if (named === null && requested !== undefined && isIdentityOnly(requested))
    return new Set(requested.filter((scope) => isKnownScope(scope)));
  const audience = named === null ? resourceOfScopes(requested ?? registered) : resources.named(named)?.audience;
  if (audience === undefined) return undefined;
  if (named === null) parameters.set('resource', resources[audience].uri);
  return fittingScopes(requested ?? defaultsOf(audience, registered), audience);
}

/** The default of RFC 6749, 3.3: the registered scopes that the resource has. */
function defaultsOf(audience: Audience, registered: readonly string[]): readonly string[] {
  return registered.length > 0 && fittingScopes(registered, audience) !== undefined
    ? registered
    : [DEFAULT_SCOPE[audience]];
}

const wordsOf = (list: string | null | undefined) => list?.split(' ').filter((word) => word !== '') ?? [];

function setList(parameters: URLSearchParams, name: string, values: ReadonlySet<string>) {
  if (values.size > 0) parameters.set(name, [...values].join(' '));
}
