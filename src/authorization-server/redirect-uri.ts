const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a redirect URI leads to a program on the machine of the user's browser (RFC 8252, 7.3). */
export const isLoopback = ({ protocol, hostname }: URL): boolean =>
  /^https?:$/.test(protocol) && LOOPBACK.has(hostname);

/**
 * Schemes without a dot that apps in use redirect to, code editors and assistants. All others must be named by a domain in reverse: no list
 * of the schemes that start another program would be complete (docs/decisions/oauth.md).
 */
const OWN_SCHEMES: ReadonlySet<string> = new Set(
  [
    'antigravity claude code-oss cursor goose jetbrains kiro lmstudio positron raycast trae vscode vscode-insiders',
    'vscodium warp windsurf windsurf-next zed',
  ].flatMap((names) => names.split(' ')),
);

/** Schemes that look like a domain in reverse, but belong to the operating system: `microsoft.windows.camera`. */
const OF_SYSTEM = /^(?:com\.apple|microsoft)\./;

/** A domain in reverse, such as `com.example.app` (RFC 8252, 7.1). */
const REVERSE_DOMAIN = /^[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+$/;

/**
 * Whether a redirect to a scheme can reach an app: http(s), or a scheme of the app's own.
 * @param protocol as `URL` writes it: in lower case, with the colon
 */
export function isRedirectScheme(protocol: string): boolean {
  const scheme = protocol.slice(0, -1);
  if (scheme === 'https' || scheme === 'http' || OWN_SCHEMES.has(scheme)) return true;
  return REVERSE_DOMAIN.test(scheme) && !OF_SYSTEM.test(scheme);
}

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
