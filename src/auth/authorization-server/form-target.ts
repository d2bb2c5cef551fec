/**
 * Where the answer to a form may redirect to, as a source for `form-action`: the origin of a redirect URI, or its scheme
 * when it leads to an app on the user's device.
 */
export function formTarget(redirectUri: unknown): string[] {
  const url = typeof redirectUri === 'string' ? URL.parse(redirectUri) : null;
  if (url === null) return [];
  return url.origin === 'null' ? [url.protocol] : [url.origin];
}
