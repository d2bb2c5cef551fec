import { API_SCOPES, SCOPE_DESCRIPTIONS } from '../auth/scopes.ts';
import { type PermissionName, scopesGranting } from '../domain/permissions.ts';
import { baseUrlOf, type Settings } from './settings.ts';

/** The two ways to authenticate. `oauth2` spells the second one out for tools that do not read OpenID Connect metadata. */
export function securitySchemes(settings: Settings): object {
  const { publicUrl } = settings;
  const resource = `Send \`resource=api\` (or \`${baseUrlOf(settings)}\`) with the authorization request and with every token request, refreshes included; the token then carries \`aud: "api"\`.`;
  const scopes = Object.fromEntries(
    ['openid', 'offline_access', ...API_SCOPES].map((scope) => [scope, SCOPE_DESCRIPTIONS[scope]]),
  );
  const list = Object.entries(scopes).map(([scope, meaning]) => `- \`${scope}\`: ${meaning}`);
  const tokenUrl = `${publicUrl}/connect/token`;
  return {
    apiKey: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'vbs_live_…',
      description:
        'An API key, made in the console for one account with chosen permissions: `vbs_live_` and 38 letters and digits. It does not expire, and stops working when it is revoked.',
    },
    openIdConnect: {
      type: 'openIdConnect',
      openIdConnectUrl: `${publicUrl}/.well-known/openid-configuration`,
      description: `An access token of this service's authorization server, a JWT that is valid for 60 minutes. ${resource}\n\nScopes:\n\n${list.join('\n')}`,
    },
    oauth2: {
      type: 'oauth2',
      description: `The same access tokens, for tools that do not read OpenID Connect metadata. PKCE with \`S256\` is required. Clients register at \`${publicUrl}/connect/register\` (RFC 7591). ${resource}`,
      flows: {
        authorizationCode: {
          authorizationUrl: `${publicUrl}/connect/authorize`,
          tokenUrl,
          refreshUrl: tokenUrl,
          scopes,
        },
        clientCredentials: {
          tokenUrl,
          scopes: Object.fromEntries(API_SCOPES.map((scope) => [scope, SCOPE_DESCRIPTIONS[scope]])),
        },
      },
    },
  };
}

/** Any of these is enough for an operation that needs the permission. */
export const securityOf = (permission: PermissionName): readonly { readonly [scheme: string]: readonly string[] }[] => [
  { apiKey: [] },
  // Without the scopes, which are the same as for OAuth 2, because Spectral accepts them only there.
  { openIdConnect: [] },
  { oauth2: scopesGranting(permission) },
];
