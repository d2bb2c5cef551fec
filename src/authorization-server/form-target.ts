/**
 * The CSP `form-action` source that lets the response to a form redirect to a redirect URI: its origin, or its scheme if it
 * leads to an app on the user's device or to an IPv6 address, which a CSP source cannot express.
 */
export function formTarget(redirectUri: unknown): string[] {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  if (url === null) return [];
  const schemeOnly = url.origin === 'null' || url.hostname.startsWith('[');
  return [schemeOnly ? url.protocol : url.origin];
}
