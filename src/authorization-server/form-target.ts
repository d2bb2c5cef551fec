/**
 * Where the answer to a form may redirect to, as a source for `form-action`: the origin of a redirect URI, or its scheme
 * when it leads to an app on the user's device, or to an IPv6 address, which a source cannot name.
 */
export function formTarget(redirectUri: unknown): string[] {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  if (url === null) return [];
  const cannotBeNamed = url.origin === 'null' || url.hostname.startsWith('[');
  return [cannotBeNamed ? url.protocol : url.origin];
}
