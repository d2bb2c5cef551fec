const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Whether a redirect URI leads to a program on the machine of the user's browser (RFC 8252, 7.3). */
export const isLoopback = ({ protocol, hostname }: URL): boolean =>
  /^https?:$/.test(protocol) && LOOPBACK.has(hostname);

/**
 * Schemes that browsers, operating systems and phones handle themselves. A redirect to one would start a call, a search or a settings
 * page instead of the app.
 */
const HANDLED_ELSEWHERE: ReadonlySet<string> = new Set(
  [
    // Browsers
    'about blob brave data devtools edge filesystem jar javascript livescript mhtml mk mocha opera res resource',
    'vbscript view-source vivaldi ws wss wyciwyg',
    // Files and other machines
    'afp cifs dav davs file finger ftp ftps git gopher jnlp ldap ldaps nfs nntp news rdp rlogin rsync rtmp rtsp sftp smb',
    'snews ssh svn telnet tftp tn3270 vnc wais webdav webdavs',
    // People
    'acct bitcoin callto ethereum im imap irc irc6 ircs mailto mapi mms mmsto pop pres sip sips skype sms smsto tel',
    'telprompt xmpp',
    // Systems and stores
    'android-app app-prefs apt calshow content feed geo hcp help intent magnet maps market ms onenote prefs search shell',
    'shortcuts steam webcal x-man-page',
    // Identifiers without a target
    'cid mid oid tag urn',
  ].flatMap((names) => names.split(' ')),
);

/** Families of such schemes: `ms-msdt`, `search-ms`, `microsoft.windows.camera`, `itms-services`, `facetime-audio`. */
const FAMILIES = /^(?:chrome|com\.apple|facetime|itms|microsoft|moz|ms|x-apple)(?:[-.+]|$)|^itms|-ms$/;

/**
 * Whether a redirect to a scheme can reach an app: http(s), or a scheme of the app's own (RFC 8252, 7.1). One letter is a drive on
 * Windows.
 * @param protocol as `URL` writes it: in lower case, with the colon
 */
export function isRedirectScheme(protocol: string): boolean {
  const scheme = protocol.slice(0, -1);
  return scheme.length > 1 && !HANDLED_ELSEWHERE.has(scheme) && !FAMILIES.test(scheme);
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
