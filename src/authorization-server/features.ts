import { type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Resource, Resources } from '../auth/resources.ts';
import { AUDIENCE_SCOPES, fittingScopes, IDENTITY_SCOPES, isIdentityOnly, OFFLINE_SCOPE } from '../auth/scopes.ts';
import { SIGNING_ALGORITHM } from '../auth/signing-keys.ts';
import type { IsSuspended } from '../auth/suspension.ts';
import { ACCOUNT_OF_CLIENT } from './clients.ts';
import { signOutPage } from './pages.ts';
import { afterSignOut, appAfterSignOut } from './sign-out.ts';
import { denySuspended } from './suspended-account.ts';

const RESOURCE_REQUIRED = 'resource must be api or mcp';
/** For authorization requests, which have no grant type, and token requests without one. */
const SCOPES_CHECKED: ReadonlySet<unknown> = new Set([undefined, 'client_credentials']);

/** The features of oidc-provider that are on, and what each allows. */
export const featuresOf = (resources: Resources, isSuspended: IsSuspended): Configuration['features'] => ({
  devInteractions: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  dPoP: { enabled: false },
  clientCredentials: { enabled: true },
  userinfo: { enabled: true },
  clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
  registration: { enabled: true, issueRegistrationAccessToken: false },
  revocation: {
    enabled: true,
    allowedPolicy(_ctx, client, token) {
      if (token.clientId === client.clientId) return true;
      // A public client cannot prove its identity, so it learns nothing about another client's token.
      if (client.clientAuthMethod === 'none') return false;
      throw new errors.InvalidRequest('client is not authorized to revoke the presented token');
    },
  },
  introspection: {
    enabled: true,
    // Anyone can register a client, so only one that an account has added learns about the tokens of others.
    async allowedPolicy(_ctx, client, token) {
      const account = client[ACCOUNT_OF_CLIENT];
      await denySuspended(account, isSuspended);
      return token.clientId === client.clientId || account !== undefined;
    },
  },
  rpInitiatedLogout: {
    enabled: true,
    logoutSource(ctx, form) {
      ctx.body = signOutPage(form, appAfterSignOut(ctx.oidc));
    },
    async postLogoutSuccessSource(ctx) {
      ctx.body = await afterSignOut(ctx);
    },
  },
  resourceIndicators: {
    enabled: true,
    // Required, unless only one can be meant (docs/decisions/oauth.md).
    defaultResource({ oidc }, _client, oneOf) {
      const scopes = String(oidc.params?.scope ?? '').split(' ');
      const isAuthorization = oidc.params?.grant_type === undefined;
      if (oneOf !== undefined || (isAuthorization && isIdentityOnly(scopes))) return oneOf;
      throw new errors.InvalidTarget(RESOURCE_REQUIRED);
    },
    // That of a refresh; a code exchange without one was refused before the code was consumed (oidc-adapter.ts).
    useGrantedResource: () => true,
    getResourceServerInfo(ctx, indicator) {
      const requested = ctx.oidc.params?.resource;
      // With two resources, the refresh token would be valid for both.
      if (Array.isArray(requested) && requested.length > 1)
        throw new errors.InvalidTarget('only one resource is allowed');
      const resource = resources.named(indicator);
      if (resource === undefined) throw new errors.InvalidTarget(RESOURCE_REQUIRED);
      if (SCOPES_CHECKED.has(ctx.oidc.params?.grant_type)) refuseUnfitScopes(ctx.oidc.params, resource);
      const { audience, scope } = resource;
      return { audience, scope, accessTokenFormat: 'jwt', jwt: { sign: { alg: SIGNING_ALGORITHM } } };
    },
  },
});

/** @throws {errors.InvalidScope} if the request asks for an unknown scope, or for none that the resource has */
export function refuseUnfitScopes(params: KoaContextWithOIDC['oidc']['params'], { audience }: Resource): void {
  const scope = String(params?.scope ?? '');
  const scopes = scope.split(' ').filter((name) => name !== '');
  const fitting = fittingScopes(scopes, audience);
  // Without a user there is no identity to prove and nothing to refresh.
  const ofUser = params?.grant_type !== 'client_credentials';
  const enough = ofUser ? fitting !== undefined : AUDIENCE_SCOPES[audience].some((name) => fitting?.has(name));
  if (enough) return;
  const available = [...AUDIENCE_SCOPES[audience], ...(ofUser ? [...IDENTITY_SCOPES, OFFLINE_SCOPE] : [])].join(', ');
  throw new errors.InvalidScope(
    `a requested scope is unknown or not available for this resource, which has ${available}`,
    scope,
  );
}
