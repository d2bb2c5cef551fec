import { isSafeForSmtp, type NamedAddress } from '../domain/email-address.ts';
import { ConfigError } from '../runtime/config-error.ts';
import { type Settings, url } from './settings.ts';

/** @param local.isLocal whether only this machine reaches the service */
export function readMailSettings(
  settings: Settings,
  { isLocal, demo }: { readonly isLocal: boolean; readonly demo: boolean },
) {
  const given = settings.secret('SMTP_URL');
  const from = mailFrom(settings);
  const smtpUrl = url(given, ['smtp:', 'smtps:']);
  const problem = smtpUrl === undefined ? undefined : smtpProblem(smtpUrl);
  if (problem !== undefined) throw new ConfigError(given.name, problem);
  if (smtpUrl !== undefined && from === undefined)
    throw new ConfigError('MAIL_FROM', 'is required with SMTP_URL: the address that mails come from');
  const wantsInbox = settings.flag('MAIL_INBOX');
  if (wantsInbox === true && smtpUrl !== undefined)
    throw new ConfigError('MAIL_INBOX', 'keeps mails instead of sending them: set only one of it and SMTP_URL');
  if (wantsInbox === true && !isLocal)
    throw new ConfigError(
      'MAIL_INBOX',
      'shows all mails to every visitor, so HOST and PUBLIC_URL must be loopback addresses',
    );
  return {
    /** The mail server, and the sender of every mail. Undefined: no mail is sent. */
    smtp: smtpUrl === undefined || from === undefined ? undefined : { url: smtpUrl, from },
    /** Whether mails are kept and shown at `/mail` instead. */
    mailInbox: wantsInbox ?? (demo && isLocal && smtpUrl === undefined),
  };
}

const TRUE_OR_FALSE = /^(true|false)$/;
/** The options in `SMTP_URL` and their values. nodemailer would ignore a misspelt one, such as `requireTls`. */
const SMTP_OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ['requireTLS', TRUE_OR_FALSE],
  ['tls.rejectUnauthorized', TRUE_OR_FALSE],
  ['tls.servername', /./],
  ['tls.minVersion', /^TLSv1(\.[123])?$/],
  ['name', /./],
]);

/** What is wrong with `SMTP_URL`. Quotes nothing of it: any part may be a piece of the password. */
function smtpProblem(text: string): string | undefined {
  const parsed = URL.parse(text);
  if (parsed === null || !isHost(parsed.hostname))
    return 'must name a host, as in smtps://user:password@mail.example:465';
  const { username, password, pathname, hash, searchParams } = parsed;
  if (!/^\/?$/.test(pathname) || hash !== '' || !isDecodable(username) || !isDecodable(password))
    return 'must have / ? # @ : % in the user or the password as %2F %3F %23 %40 %3A %25, and no path';
  if ((username === '') !== (password === '')) return 'must have a user and a password, or neither';
  const isOption = ([name, value]: readonly [string, string]) => SMTP_OPTIONS.get(name)?.test(value) === true;
  if (searchParams.size === new Set(searchParams.keys()).size && [...searchParams].every(isOption)) return undefined;
  return `may have each of these options once: ${[...SMTP_OPTIONS.keys()].join(', ')}; the first two are true or false`;
}

/** Any text can be the host in a URL of an unknown scheme. nodemailer refuses some, with an error that has the whole URL. */
const isHost = (hostname: string): boolean => hostname !== '' && URL.canParse(`http://${hostname}`);

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

/** `Name <address>`, or an address. */
const mailFrom = ({ read }: Settings): NamedAddress | undefined =>
  read('MAIL_FROM', 'an address such as bookings@example.com or Bookings <bookings@example.com>', (text) => {
    const bracket = text.endsWith('>') ? text.lastIndexOf('<') : -1;
    const name = text
      .slice(0, Math.max(bracket, 0))
      .trim()
      .replace(/^"(.*)"$/, '$1');
    const address = bracket === -1 ? text : text.slice(bracket + 1, -1);
    return isSafeForSmtp(address) && !/[<>"\p{Cc}]/u.test(name) ? { name, address } : undefined;
  });
