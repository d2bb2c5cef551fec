/**
 * Client metadata without the grant and response types that we do not have: clients name all that they know, and the answer tells
 * them what they got (RFC 7591, 2). A list of which nothing would be left stays, and is refused.
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

/** `client_credentials` is one that we have, though not for clients that register themselves: those rules say so. */
const KNOWN: Readonly<Record<string, readonly unknown[]>> = {
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
  response_types: ['code'],
};
