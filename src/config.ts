import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join } from 'node:path';
import { OPERATOR } from './domain/account.ts';
import { isSafeForSmtp, type NamedAddress } from './domain/email-address.ts';
import type { Cents } from './domain/ids.ts';
import { parseAmount } from './domain/pricing.ts';
import { isLoopbackHost } from './http/loopback.ts';
import { ConfigError } from './runtime/config-error.ts';
import { FOLDER_OWNER_ONLY, writePrivate } from './runtime/private-file.ts';
import type { SecretKey } from './secrets/secret-key.ts';

const ROLES = ['api', 'projector', 'webhooks', 'scheduler', 'mail'] as const;
type Role = (typeof ROLES)[number];

/** The service's settings; docs/operations/settings.md lists them. */
export type Config = {
  readonly port: number;
  readonly host: string;
  /** The port of `/metrics`, `/healthz` and `/readyz` in every process, also in one without the role `api`. Undefined: none. */
  readonly metricsPort: number | undefined;
  readonly metricsHost: string;
  /** Origin at which the service is reached, without a trailing slash. It is also the OAuth issuer. */
  readonly publicUrl: string;
  /** Addresses of reverse proxies whose `X-Forwarded-For` is trusted; rate limits count by client address. */
  readonly trustProxy: readonly string[];
  readonly dataDir: string;
  /** Unset: the embedded event store in `dataDir`. */
  readonly eventStoreUrl: string | undefined;
  /** The prefix of all names on a shared EventStoreDB. */
  readonly eventStorePrefix: string | undefined;
  /** Unset: the embedded document store in `dataDir`. */
  readonly mongoUrl: string | undefined;
  /** Without `mail` if no mail is configured. */
  readonly roles: ReadonlySet<Role>;
  /** The mail server, and the sender of every mail. Undefined: no mail is sent. */
  readonly smtp: { readonly url: string; readonly from: NamedAddress } | undefined;
  /** Whether mails are kept and shown at `/mail` instead. */
  readonly mailInbox: boolean;
  readonly serviceFeePercent: number;
  /** ISO 4217. */
  readonly currency: string;
  /** How many unanswered requests a brand may have at once. Undefined: any number. */
  readonly pendingLimit: number | undefined;
  /** The console asks once more before it approves a request with a higher total. Undefined: it never does. */
  readonly approveConfirmAbove: Cents | undefined;
  /** 32 bytes that seal secrets at rest. */
  readonly secretKey: SecretKey;
  readonly webhooksAllowPrivate: boolean;
  /** Webhook registrations an account may have. */
  readonly webhooksPerAccount: number;
  /** OAuth clients that may register themselves per network and hour. */
  readonly registrationsPerHour: number;
  /** API keys an account may have that are not revoked. */
  readonly apiKeysPerAccount: number;
  /** Service clients an account may have. */
  readonly clientsPerAccount: number;
  /** Spaces a community may have, closed ones included. */
  readonly spacesPerCommunity: number;
  /** What one account may write to the log in a day: events, and bytes of their data. */
  readonly accountPerDay: { readonly events: number; readonly bytes: number };
  /** Forms that the users of an account may submit in the console within a minute. */
  readonly consoleWritesPerMinute: number;
  /** How long after a test delivery the console sends the next one to the same webhook, in milliseconds. */
  readonly testDeliveryIntervalMs: number;
  readonly demo: boolean;
  readonly logLevel: string;
  /** Whether the log also has a line about each read that succeeds quickly. */
  readonly logReads: boolean;
  /** Milliseconds added to the clock. */
  readonly clockShift: number;
  /** Distinguishes machines with the same host name; `runtime/process-liveness.ts` reads it, too. */
  readonly place: string | undefined;
  /** How long the service still accepts requests after SIGTERM, so that load balancers see `/readyz` fail first. */
  readonly drainMs: number;
  /** The URL that receives every checkpoint of the log. */
  readonly sealWebhook: string | undefined;
  /** The actor id of the operator's commands. */
  readonly operator: string;
  /** The file that every checkpoint of the log is appended to. */
  readonly sealFile: string | undefined;
  /** Whether `sealFile` also gets the hash of every event. */
  readonly sealFileLeaves: boolean;
  /** How long an unused read model is kept, such as one of an earlier release, in milliseconds. */
  readonly retireAfterMs: number;
};

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULT_DATA_DIR = './data';
const SECRET_KEY_FILE = 'secret.key';

const EVENTSTORE_PROTOCOLS = ['esdb:', 'esdb+discover:', 'kurrentdb:', 'kurrentdb+discover:'];
const MAX_PORT = 65_535;
const PORT_RULE = `a port, 1 to ${MAX_PORT}`;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Reads the configuration from the environment. On the embedded engines, creates `DATA_DIR` and the secret key in it if no setting holds
 * the key.
 * @throws {ConfigError} for the first setting that is invalid
 */
export function readConfig(env: Environment): Config {
  const value = (name: string): string | undefined => {
    const text = env[name]?.trim();
    return text === '' ? undefined : text;
  };
  const port = count(value, 'PORT', PORT_RULE, MAX_PORT) ?? 3000;
  const dataDir = value('DATA_DIR') ?? DEFAULT_DATA_DIR;
  const eventStoreUrl = url(secret(value, 'EVENTSTORE_URL'), EVENTSTORE_PROTOCOLS);
  const mongoUrl = url(secret(value, 'MONGODB_URL'), ['mongodb:', 'mongodb+srv:']);
  const embedded = eventStoreUrl === undefined && mongoUrl === undefined;
  const host = value('HOST') ?? '127.0.0.1';
  const publicUrl = origin(value('PUBLIC_URL') ?? `http://localhost:${port}`);
  const demo = flag(value, 'DEMO') ?? embedded;
  const mail = mailSettings(value, {
    isLocal: isLoopbackHost(host) && isLoopbackHost(new URL(publicUrl).hostname),
    demo,
  });
  const runs = roles(value('ROLES'), mail.smtp !== undefined || mail.mailInbox);
  const percentage = (text: string) => upTo(decimal(text), 100);

  return {
    port,
    host,
    metricsPort: metricsPort(value, runs.has('api') ? port : undefined),
    metricsHost: value('METRICS_HOST') ?? '127.0.0.1',
    publicUrl,
    trustProxy: proxies(value('TRUST_PROXY')),
    dataDir,
    eventStoreUrl,
    eventStorePrefix: eventStorePrefix(value, eventStoreUrl),
    mongoUrl,
    roles: runs,
    ...mail,
    serviceFeePercent: read(value, 'SERVICE_FEE_PERCENT', 'a percentage, 0 to 100', percentage) ?? 15,
    currency:
      read(value, 'CURRENCY', 'an ISO 4217 code such as USD', oneOf(Intl.supportedValuesOf('currency'))) ?? 'USD',
    pendingLimit: quota(value, 'PENDING_LIMIT'),
    approveConfirmAbove: read(value, 'APPROVE_CONFIRM_ABOVE', 'an amount such as 5000 or 5000.00', parseAmount),
    secretKey: secretKeys(secret(value, 'SECRET_KEY'), secret(value, 'SECRET_KEYS'), embedded, dataDir),
    webhooksAllowPrivate: flag(value, 'WEBHOOKS_ALLOW_PRIVATE') ?? false,
    registrationsPerHour: count(value, 'REGISTRATIONS_PER_HOUR', 'a whole number, 1 to 100000', 100_000) ?? 120,
    webhooksPerAccount: quota(value, 'WEBHOOKS_PER_ACCOUNT') ?? 100,
    apiKeysPerAccount: quota(value, 'API_KEYS_PER_ACCOUNT') ?? 100,
    clientsPerAccount: quota(value, 'CLIENTS_PER_ACCOUNT') ?? 50,
    spacesPerCommunity: quota(value, 'SPACES_PER_COMMUNITY') ?? 200,
    accountPerDay: {
      events: count(value, 'ACCOUNT_EVENTS_PER_DAY', 'a whole number, 1 to 1000000000', 1_000_000_000) ?? 500_000,
      bytes:
        count(value, 'ACCOUNT_BYTES_PER_DAY', 'a whole number, 1 to 1000000000000', 1_000_000_000_000) ?? 250_000_000,
    },
    consoleWritesPerMinute: quota(value, 'CONSOLE_WRITES_PER_MINUTE') ?? 120,
    testDeliveryIntervalMs: duration(value, 'TEST_DELIVERY_INTERVAL', 'PT1H') ?? 1_000,
    demo,
    logLevel: read(value, 'LOG_LEVEL', `one of ${LOG_LEVELS.join(', ')}`, oneOf(LOG_LEVELS)) ?? 'info',
    logReads: flag(value, 'LOG_READS') ?? false,
    clockShift: read(value, 'CLOCK_SHIFT', 'an ISO 8601 duration such as PT36H or -P2D', milliseconds) ?? 0,
    place: read(value, 'PLACE', '1 to 64 letters, digits or any of . : _ -', matching(/^[\w.:-]{1,64}$/)),
    drainMs: duration(value, 'DRAIN', 'PT1M') ?? 1_000,
    sealWebhook: httpUrl(value, 'SEAL_WEBHOOK'),
    operator:
      read(value, 'VENUE_OPERATOR', '1 to 64 of a-z, 0-9, ".", "_" and "-"', matching(/^[a-z0-9._-]{1,64}$/)) ??
      OPERATOR.id,
    sealFile: value('SEAL_FILE'),
    sealFileLeaves: sealFileLeaves(value),
    retireAfterMs: duration(value, 'RETIRE_AFTER', 'PT8760H') ?? 24 * 3_600_000,
  };
}

type Value = (name: string) => string | undefined;
/** Undefined if the text is not valid. */
type Parse<T> = (text: string) => T | undefined;

/** A setting; undefined if it is not set. */
function read<T>(value: Value, name: string, rule: string, parse: Parse<T>): T | undefined {
  const text = value(name);
  if (text === undefined) return undefined;
  const parsed = parse(text);
  if (parsed === undefined) throw new ConfigError(name, `must be ${rule}, got "${text}"`);
  return parsed;
}

const matching =
  (pattern: RegExp): Parse<string> =>
  (text) =>
    pattern.test(text) ? text : undefined;

const oneOf =
  (allowed: readonly string[]): Parse<string> =>
  (text) =>
    allowed.includes(text) ? text : undefined;

/** Refuses notations that only JavaScript accepts: 0x10, 1e3. */
const decimal: Parse<number> = (text) => (/^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined);

const upTo = (number: number | undefined, most: number) => (number === undefined || number > most ? undefined : number);

/** A whole number from 1. */
const count = (value: Value, name: string, rule: string, most: number): number | undefined =>
  read(value, name, rule, (text) => {
    const parsed = upTo(decimal(text), most);
    return Number.isInteger(parsed) && parsed !== 0 ? parsed : undefined;
  });

/** @param port the other port that this process listens on */
function metricsPort(value: Value, port: number | undefined): number | undefined {
  const chosen = count(value, 'METRICS_PORT', PORT_RULE, MAX_PORT);
  if (chosen !== undefined && chosen === port) throw new ConfigError('METRICS_PORT', `must differ from PORT, ${port}`);
  return chosen;
}

const quota = (value: Value, name: string) => count(value, name, 'a whole number, 1 to 1000', 1_000);

const flag = (value: Value, name: string): boolean | undefined =>
  read(value, name, 'true or false', (text) => {
    if (text === 'true') return true;
    return text === 'false' ? false : undefined;
  });

/** An ISO 8601 duration. A day is 24 hours here; weeks, months and years are refused. */
const milliseconds: Parse<number> = (text) => {
  try {
    return Temporal.Duration.from(text).total('milliseconds');
  } catch {
    return undefined;
  }
};

/** From 0 seconds up to `longest`, in milliseconds. */
const duration = (value: Value, name: string, longest: string): number | undefined =>
  read(value, name, `an ISO 8601 duration, PT0S to ${longest}`, (text) => {
    const parsed = milliseconds(text);
    return parsed === undefined || parsed < 0 ? undefined : upTo(parsed, milliseconds(longest) ?? 0);
  });

/** The value of a setting, and the variable that it came from, for messages. */
type Given = { readonly name: string; readonly text: string | undefined };

/** A setting that a file may hold, as Docker and Kubernetes mount secrets: `NAME_FILE` names the file. */
function secret(value: Value, setting: (typeof SECRETS)[number]): Given {
  const name = `${setting}_FILE`;
  const file = value(name);
  if (file === undefined) return { name: setting, text: value(setting) };
  if (value(setting) !== undefined) throw new ConfigError(name, `replaces ${setting}: set only one of them`);
  const text = secretIn(file, name).trim();
  if (text === '') throw new ConfigError(name, `${file} is empty`);
  return { name, text };
}

function secretIn(file: string, name: string): string {
  try {
    // Reading a device such as /dev/zero would never end.
    if (statSync(file).isFile()) return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(name, `cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  throw new ConfigError(name, `${file} is not a file`);
}

function url({ name, text }: Given, protocols: readonly string[]): string | undefined {
  if (text === undefined || protocols.some((protocol) => text.startsWith(`${protocol}//`))) return text;
  // The message omits the value, which may contain a password.
  throw new ConfigError(name, `must start with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
}

/** Parsed like the clients parse it. The message omits the value, which may contain a password. */
function httpUrl(value: Value, name: string): string | undefined {
  const text = url({ name, text: value(name) }, ['https:', 'http:']);
  if (text === undefined || URL.canParse(text)) return text;
  throw new ConfigError(name, 'must be an absolute URL');
}

function sealFileLeaves(value: Value): boolean {
  const leaves = flag(value, 'SEAL_FILE_LEAVES') ?? false;
  if (leaves && value('SEAL_FILE') === undefined) throw new ConfigError('SEAL_FILE_LEAVES', 'requires SEAL_FILE');
  return leaves;
}

function origin(text: string): string {
  if (!URL.canParse(text)) throw new ConfigError('PUBLIC_URL', `must be an absolute URL, got "${text}"`);
  const parsed = new URL(text);
  const isOrigin = /^https?:$/.test(parsed.protocol) && text.replace(/\/$/, '') === parsed.origin;
  if (!isOrigin) throw new ConfigError('PUBLIC_URL', `must be an http(s) origin without a path, got "${text}"`);
  return parsed.origin;
}

function proxies(text: string | undefined): readonly string[] {
  const named = text?.split(',').map((address) => address.trim()) ?? [];
  const wrong = named.find((address) => !isNetwork(address));
  if (wrong === undefined) return named;
  throw new ConfigError('TRUST_PROXY', `must list IP addresses or networks such as 10.0.0.0/8, got "${wrong}"`);
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : undefined;
  if (bits === undefined || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

/** @param hasMail whether mail is configured: without, no process may have the role `mail` */
function roles(text: string | undefined, hasMail: boolean): ReadonlySet<Role> {
  const named = text?.split(',').map((role) => role.trim()) ?? ROLES;
  const wrong = named.find((role) => !(ROLES as readonly string[]).includes(role));
  if (wrong !== undefined) throw new ConfigError('ROLES', `unknown role "${wrong}"; roles are ${ROLES.join(', ')}`);
  const runs = new Set(named as Role[]);
  if (!hasMail) runs.delete('mail');
  if (runs.size === 0) throw new ConfigError('ROLES', 'the role mail requires SMTP_URL or MAIL_INBOX');
  return runs;
}

/** @param local.isLocal whether only this machine reaches the service */
function mailSettings(
  value: Value,
  { isLocal, demo }: { readonly isLocal: boolean; readonly demo: boolean },
): Pick<Config, 'smtp' | 'mailInbox'> {
  const given = secret(value, 'SMTP_URL');
  const from = mailFrom(value);
  const smtpUrl = url(given, ['smtp:', 'smtps:']);
  const problem = smtpUrl === undefined ? undefined : smtpProblem(smtpUrl);
  if (problem !== undefined) throw new ConfigError(given.name, problem);
  if (smtpUrl !== undefined && from === undefined)
    throw new ConfigError('MAIL_FROM', 'is required with SMTP_URL: the address that mails come from');
  const wantsInbox = flag(value, 'MAIL_INBOX');
  if (wantsInbox === true && smtpUrl !== undefined)
    throw new ConfigError('MAIL_INBOX', 'keeps mails instead of sending them: set only one of it and SMTP_URL');
  if (wantsInbox === true && !isLocal)
    throw new ConfigError(
      'MAIL_INBOX',
      'shows all mails to every visitor, so HOST and PUBLIC_URL must be loopback addresses',
    );
  return {
    smtp: smtpUrl === undefined || from === undefined ? undefined : { url: smtpUrl, from },
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
const mailFrom = (value: Value): NamedAddress | undefined =>
  read(value, 'MAIL_FROM', 'an address such as bookings@example.com or Bookings <bookings@example.com>', (text) => {
    const bracket = text.endsWith('>') ? text.lastIndexOf('<') : -1;
    const name = text
      .slice(0, Math.max(bracket, 0))
      .trim()
      .replace(/^"(.*)"$/, '$1');
    const address = bracket === -1 ? text : text.slice(bracket + 1, -1);
    return isSafeForSmtp(address) && !/[<>"\p{Cc}]/u.test(name) ? { name, address } : undefined;
  });

/** With one of them, no file in `DATA_DIR` holds the secret key. */
const INSTEAD_OF_KEY_FILE = ['SECRET_KEY', 'SECRET_KEYS', 'EVENTSTORE_URL', 'MONGODB_URL'] as const;
/** Settings that a file may hold. */
const SECRETS = [...INSTEAD_OF_KEY_FILE, 'SMTP_URL'] as const;

/** The file of the secret key; undefined if a setting holds the key, or an engine is external. */
export function secretKeyFile(env: Environment): string | undefined {
  const isSet = (name: string) => (env[name]?.trim() ?? '') !== '';
  if (INSTEAD_OF_KEY_FILE.some((name) => isSet(name) || isSet(`${name}_FILE`))) return undefined;
  return join(isSet('DATA_DIR') ? (env.DATA_DIR?.trim() ?? '') : DEFAULT_DATA_DIR, SECRET_KEY_FILE);
}

/** `SECRET_KEYS` lists several keys during a rotation. The first one seals (docs/decisions/credentials.md). */
function secretKeys(one: Given, several: Given, embedded: boolean, dataDir: string): SecretKey {
  if (several.text === undefined) return secretKey(one, embedded, dataDir);
  if (one.text !== undefined) throw new ConfigError(several.name, `replaces ${one.name}: set only one of them`);
  const [current, ...former] = several.text
    .split(',')
    .map((text) => keyIn(text.trim(), several.name, 'must list keys of'));
  const different = new Set([current, ...former].map((key) => key?.toString('hex')));
  if (current === undefined || different.size <= former.length)
    throw new ConfigError(several.name, 'must list different keys');
  return [current, ...former];
}

function keyIn(text: string, setting: string, what: 'must be' | 'must list keys of'): Buffer {
  const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
  if (key.length !== 32) throw new ConfigError(setting, `${what} 32 bytes in base64 or hex`);
  return key;
}

/** The key in `SECRET_KEY`. Without it, the embedded engines use the one in `DATA_DIR`, which is created with mode 0600. */
function secretKey({ name, text }: Given, embedded: boolean, dataDir: string): Buffer {
  if (text !== undefined) return keyIn(text, name, 'must be');
  if (!embedded)
    throw new ConfigError('SECRET_KEY', 'is required with EVENTSTORE_URL or MONGODB_URL (32 bytes in base64 or hex)');
  try {
    makeFolder(dataDir);
    const file = join(dataDir, SECRET_KEY_FILE);
    try {
      if (!existsSync(file)) writePrivate(file, randomBytes(32).toString('base64'), 'new');
    } catch (error) {
      // Another process may have created it.
      if (!existsSync(file)) throw error;
    }
    const key = Buffer.from(readFileSync(file, 'utf8'), 'base64');
    if (key.length !== 32) throw new ConfigError('SECRET_KEY', `${file} does not contain 32 bytes in base64`);
    return key;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError('DATA_DIR', `cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Creates a folder and its parents, for their owner only. Node's recursive `mkdir` never returns on file systems such as /proc, which report
 * ENOENT although the parent exists.
 */
function makeFolder(folder: string): void {
  const parent = dirname(folder);
  if (statSync(parent, { throwIfNoEntry: false }) === undefined) makeFolder(parent);
  try {
    mkdirSync(folder, FOLDER_OWNER_ONLY);
  } catch (error) {
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

function eventStorePrefix(value: Value, eventStoreUrl: string | undefined): string | undefined {
  if (value('EVENTSTORE_PREFIX') !== undefined && eventStoreUrl === undefined)
    throw new ConfigError('EVENTSTORE_PREFIX', 'requires EVENTSTORE_URL');
  const rule = '1 to 64 letters, digits, _ or -, the first a letter or a digit';
  return read(value, 'EVENTSTORE_PREFIX', rule, matching(/^[A-Za-z0-9][\w-]{0,63}$/));
}
