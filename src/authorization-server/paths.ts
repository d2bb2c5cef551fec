/** Paths of the authorization server (docs/guides/oauth.md). */
export const PATHS = {
  openidConfiguration: '/.well-known/openid-configuration',
  /** The same document for OAuth clients without OpenID Connect (RFC 8414). MCP clients look here first. */
  oauthMetadata: '/.well-known/oauth-authorization-server',
  jwks: '/.well-known/jwks',
  authorization: '/connect/authorize',
  token: '/connect/token',
  registration: '/connect/register',
  userinfo: '/connect/userinfo',
  revocation: '/connect/revoke',
  introspection: '/connect/introspect',
  logout: '/connect/logout',
  /** The sign-in and consent pages: `{interaction}/{uid}`. */
  interaction: '/connect/interaction',
} as const;
