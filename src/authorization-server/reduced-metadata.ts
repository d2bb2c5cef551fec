import type { ClientAuthMethod } from 'oidc-provider';
import { SCOPES } from '../auth/scopes.ts';
import { SIGNING_ALGORITHM } from '../auth/signing-keys.ts';

/** The first is what some clients choose, so the one without a secret stands last. */
export const CLIENT_AUTH_METHODS: ClientAuthMethod[] = ['client_secret_basic', 'client_secret_post', 'none'];

/**
 * Reduces the metadata of a registration. Another way to authenticate is not offered to a client that publishes its metadata instead: no
 * answer shows it, and programs that lack the client's key could act for it.
 */
export function reduceRegistration(requested: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { token_endpoint_auth_method: method, ...metadata } = reduceMetadata(requested);
  return CLIENT_AUTH_METHODS.some((supported) => supported === method)
    ? { ...metadata, token_endpoint_auth_method: method }
    : metadata;
}

/**
 * Reduces the metadata of a client to what it can get (RFC 7591, 2). Members without a value count as absent. A
 * client none of whose grant or response types is supported keeps them, and is refused, because it could do nothing.
 */
export function reduceMetadata(requested: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const metadata = Object.fromEntries(Object.entries(requested).filter(([, value]) => !isEmpty(value)));
  for (const [field, supported] of Object.entries(SUPPORTED)) {
    const value = metadata[field];
    const usable = listOf(value).filter((name) => supported.includes(name));
    if (typeof value === 'string' && !supported.includes(value)) delete metadata[field];
    if (usable.length > 0) metadata[field] = usable;
    else if (Array.isArray(value) && !REFUSED_WITHOUT.has(field)) delete metadata[field];
  }
  if (typeof metadata.scope === 'string') {
    const scopes = metadata.scope.split(' ').filter((name) => SUPPORTED_SCOPES.has(name));
    if (scopes.length > 0) metadata.scope = scopes.join(' ');
    else delete metadata.scope;
  }
  return metadata;
}

/** The values that a client which registers itself can get. The others are dropped, and the default is used instead. */
const SUPPORTED: Readonly<Record<string, readonly unknown[]>> = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  response_modes: ['query', 'fragment', 'form_post'],
  id_token_signed_response_alg: [SIGNING_ALGORITHM],
  subject_type: ['public'],
  application_type: ['web', 'native'],
  default_acr_values: [],
};
const REFUSED_WITHOUT: ReadonlySet<string> = new Set(['grant_types', 'response_types']);
const SUPPORTED_SCOPES: ReadonlySet<string> = new Set(SCOPES);

const isEmpty = (value: unknown): boolean =>
  value === null || value === '' || (Array.isArray(value) && value.length === 0);

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
