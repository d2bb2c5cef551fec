import { API_SCOPES, SCOPE_DESCRIPTIONS } from '../auth/scopes.ts';
import { baseUrlOf, type Settings } from './settings.ts';

/**
 * How to authenticate. Operations name the bearer scheme alone: of several alternatives, generated clients choose one that they cannot carry
 * out, or send none. The others say where an access token comes from; `oauth2` is for tools that do not read OpenID Connect metadata.
 */
export function securitySchemes(settings: Settings): object {
  const { publicUrl } = settings;
  const resource =
    `Send \`resource=api\` (or \`${baseUrlOf(settings)}\`) with the authorization request and with every token request, ` +
    'refreshes included; the token then carries `aud: "api"`.';
  const scopes = Object.fromEntries(
    ['openid', 'offline_access', ...API_SCOPES].map((scope) => [scope, SCOPE_DESCRIPTIONS[scope]]),
  );
  const list = Object.entries(scopes).map(([scope, meaning]) => `- \`${scope}\`: ${meaning}`);
  const tokenUrl = `${publicUrl}/connect/token`;
  return {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'vbs_live_… or JWT',
      description:
        'An API key, made in the console for one account with chosen permissions: `vbs_live_` and 38 letters and ' +
        'digits. It does not expire, and stops working when it is revoked. Or an access token, which ' +
        '`openIdConnect` and `oauth2` describe: it is sent in the same way.',
    },
    openIdConnect: {
      type: 'openIdConnect',
      openIdConnectUrl: `${publicUrl}/.well-known/openid-configuration`,
      description: `An access token of this service's authorization server, a JWT that is valid for 60 minutes. ${resource}\n\nScopes:\n\n${list.join('\n')}`,
    },
    oauth2: {
      type: 'oauth2',
      description:
        'The same access tokens, for tools that do not read OpenID Connect metadata. PKCE with `S256` is required. ' +
        `Clients register at \`${publicUrl}/connect/register\` (RFC 7591). ${resource}`,
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

/** What every operation names. Its scope is in its description. */
export const SECURITY = [{ bearer: [] }] as const;
