/**
 * Removes grant and response types that we do not support from client metadata: clients list all that they support, and the answer shows
 * what they got (RFC 7591, 2). A list with no supported type stays, and is refused.
 */
export function withKnownGrants(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const left = { ...metadata };
  for (const [field, known] of Object.entries(KNOWN)) {
    const named = metadata[field];
    const kept = Array.isArray(named) ? named.filter((name) => known.includes(name)) : [];
    if (kept.length > 0) left[field] = kept;
  }
  return left;
}

/** `client_credentials` is supported, but not for clients that register themselves; the registration rules refuse it. */
const KNOWN: Readonly<Record<string, readonly unknown[]>> = {
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  response_types: ['code'],
};
