import { type ClientMetadata, errors } from 'oidc-provider';
import { OFFLINE_SCOPE } from '../auth/scopes.ts';
import { NAME } from '../domain/limits.ts';
import { toAppName } from './app-name.ts';
import { ACCOUNT_OF_CLIENT } from './clients.ts';
import { isLoopback, isRedirectScheme } from './redirect-uri.ts';
import { listOf } from './reduced-metadata.ts';

const MAX_REDIRECTS = 20;
/** The longest name that DNS can resolve (RFC 1035, 2.3.4). */
const MAX_HOST = 253;

/**
 * The rules for clients that register themselves (RFC 7591) or publish a metadata document (docs/decisions/oauth.md). They act for users
 * only. Plain http redirects are for programs on the user's own machine; those count as native apps (RFC 8252), unless they are
 * registered as a web application that keeps a secret, which a developer runs there.
 * @throws {errors.InvalidClientMetadata}
 */
export function applyRegistrationRules(metadata: ClientMetadata): void {
  if (metadata[ACCOUNT_OF_CLIENT] !== undefined) refuse(`${ACCOUNT_OF_CLIENT} cannot be registered`);
  if (listOf(metadata.grant_types).includes('client_credentials'))
    refuse('client_credentials is not available to clients that register themselves; create a client in the console');
  if (typeof metadata.client_name === 'string') {
    const name = toAppName('client_name', metadata.client_name, NAME);
    if (typeof name !== 'string') refuse(name.details);
    metadata.client_name = name;
  }

  const redirects = [...listOf(metadata.redirect_uris), ...listOf(metadata.post_logout_redirect_uris)];
  if (redirects.length > MAX_REDIRECTS) refuse(`at most ${MAX_REDIRECTS} redirect URIs are allowed`);
  for (const uri of redirects) {
    const url = typeof uri === 'string' ? URL.parse(uri) : null;
    // Malformed URLs are left to oidc-provider, which has its own message for them.
    if (url === null || typeof uri !== 'string') continue;
    // A message that starts with redirect_uris makes oidc-provider answer invalid_redirect_uri.
    if (!/^[!-[\]-~]+$/.test(uri))
      refuse('redirect_uris must be written in visible ASCII characters without backslashes (RFC 3986)');
    // The parser takes any number of slashes.
    if (/^https?:$/.test(url.protocol) && !/^https?:\/\/[^/?#]/i.test(uri))
      refuse('redirect_uris with http or https must have two slashes and a host (RFC 3986)');
    if (url.username !== '' || url.password !== '') refuse('redirect_uris must not have a user name or password');
    if (url.hostname.length > MAX_HOST) refuse(`redirect_uris must have a host of at most ${MAX_HOST} characters`);
    if (url.protocol === 'http:' && !isLoopback(url))
      refuse(`redirect_uris with http must use a loopback address, not ${url.host}`);
    if (!isRedirectScheme(url.protocol))
      refuse(
        [
          'redirect_uris must use https, http on a loopback address, or a scheme named by a domain in reverse,',
          `such as com.example.app; not ${url.protocol.slice(0, -1)}`,
        ].join(' '),
      );
    if (url.protocol !== 'https:' && !isLocalWeb(metadata, url)) metadata.application_type = 'native';
  }

  // Clients' keys are never used; without these fields oidc-provider fetches no URL that a client chose.
  delete metadata.jwks;
  delete metadata.jwks_uri;
  delete metadata.sector_identifier_uri;
  // Not shown, and what is not used is left out of the answer (RFC 7591, 2).
  delete metadata.logo_uri;
}

/**
 * A client that may refresh may ask for a refresh token, even if it registered a list of scopes without `offline_access`. MCP
 * clients register exactly the scope that they were challenged for.
 */
export function completeScope(metadata: ClientMetadata): void {
  const { scope } = metadata;
  if (typeof scope !== 'string' || !listOf(metadata.grant_types).includes('refresh_token')) return;
  const scopes = scope.split(' ');
  if (!scopes.includes(OFFLINE_SCOPE)) metadata.scope = [...scopes, OFFLINE_SCOPE].join(' ');
}

const isLocalWeb = ({ application_type: type, token_endpoint_auth_method: method }: ClientMetadata, url: URL) =>
  type === 'web' && method !== 'none' && url.protocol === 'http:';

function refuse(message: string): never {
  throw new errors.InvalidClientMetadata(message);
}
