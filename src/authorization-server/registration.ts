import { type ClientMetadata, errors } from 'oidc-provider';
import { ACCOUNT_OF_CLIENT } from './clients.ts';

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
const MAX_REDIRECTS = 20;
const MAX_NAME = 200;

/**
 * What an app that registers itself may say (RFC 7591). It acts for users only; plain http is for programs on the
 * user's own machine, and those are native ones (RFC 8252), whatever they call themselves.
 * @throws {errors.InvalidClientMetadata}
 */
export function applyRegistrationRules(metadata: ClientMetadata): void {
  if (metadata[ACCOUNT_OF_CLIENT] !== undefined) refuse(`${ACCOUNT_OF_CLIENT} cannot be registered`);
  if (asList(metadata.grant_types).includes('client_credentials'))
    refuse('client_credentials is not for clients that register themselves; an account adds such a client');
  if (typeof metadata.client_name === 'string' && metadata.client_name.length > MAX_NAME)
    refuse(`client_name has at most ${MAX_NAME} characters`);

  const redirects = [...asList(metadata.redirect_uris), ...asList(metadata.post_logout_redirect_uris)];
  if (redirects.length > MAX_REDIRECTS) refuse(`at most ${MAX_REDIRECTS} redirect URIs`);
  for (const uri of redirects) {
    const url = typeof uri === 'string' ? URL.parse(uri) : null;
    // What is no URL at all is refused by the general rules, with their message.
    if (url === null) continue;
    if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname))
      refuse(`redirect_uris with http are for loopback addresses only, not ${url.host}`);
    if (url.protocol !== 'https:') metadata.application_type = 'native';
  }

  // Nothing here uses a client's keys, so nothing fetches what a stranger names.
  delete metadata.jwks;
  delete metadata.jwks_uri;
  delete metadata.sector_identifier_uri;
}

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function refuse(message: string): never {
  throw new errors.InvalidClientMetadata(message);
}
