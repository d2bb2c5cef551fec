import { isIP } from 'node:net';
import { OPERATOR } from './domain/account.ts';
import { parseAmount } from './domain/pricing.ts';
import { isLoopbackHost } from './http/loopback.ts';
import { ConfigError } from './runtime/config-error.ts';
import { readMailSettings } from './settings/mail.ts';
import { DEFAULT_DATA_DIR, readSecretKey } from './settings/secret-key.ts';
import {
  decimal,
  type Environment,
  matching,
  milliseconds,
  oneOf,
  type Settings,
  settingsIn,
  upTo,
  url,
} from './settings/settings.ts';

const ROLES = ['api', 'projector', 'webhooks', 'scheduler', 'mail'] as const;
type Role = (typeof ROLES)[number];

/** The service's settings; docs/operations/settings.md lists them. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

const EVENTSTORE_PROTOCOLS = ['esdb:', 'esdb+discover:', 'kurrentdb:', 'kurrentdb+discover:'];
const MAX_PORT = 65_535;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Reads the configuration from the environment. On the embedded engines, creates `DATA_DIR` and the secret key in it if no setting holds
 * the key.
 * @throws {ConfigError} for the first setting that is invalid
 */
export function readConfig(env: Environment) {
  const settings = settingsIn(env);
  const { text, read, count, flag, duration, secret } = settings;
  const quota = (name: string) => count(name, 1_000);
  const port = count('PORT', MAX_PORT, 'a port') ?? 3000;
  const dataDir = text('DATA_DIR') ?? DEFAULT_DATA_DIR;
  const eventStoreUrl = url(secret('EVENTSTORE_URL'), EVENTSTORE_PROTOCOLS);
  const mongoUrl = url(secret('MONGODB_URL'), ['mongodb:', 'mongodb+srv:']);
  const embedded = eventStoreUrl === undefined && mongoUrl === undefined;
  const host = text('HOST') ?? '127.0.0.1';
  const publicUrl = origin(text('PUBLIC_URL') ?? `http://localhost:${port}`);
  const demo = flag('DEMO') ?? embedded;
  const isLocal = isLoopbackHost(host) && isLoopbackHost(new URL(publicUrl).hostname);
  const mail = readMailSettings(settings, { isLocal, demo });
  const roles = rolesIn(text('ROLES'), mail.smtp !== undefined || mail.mailInbox);

  return {
    port,
    host,
    /** The port of `/metrics`, `/healthz` and `/readyz` in every process, also in one without the role `api`. Undefined: none. */
    metricsPort: metricsPort(settings, roles.has('api') ? port : undefined),
    metricsHost: text('METRICS_HOST') ?? '127.0.0.1',
    /** Origin at which the service is reached, without a trailing slash. It is also the OAuth issuer. */
    publicUrl,
    /** Addresses of reverse proxies whose `X-Forwarded-For` is trusted; rate limits count by client address. */
    trustProxy: proxies(text('TRUST_PROXY')),
    dataDir,
    /** Unset: the embedded event store in `dataDir`. */
    eventStoreUrl,
    /** The prefix of all names on a shared EventStoreDB. */
    eventStorePrefix: eventStorePrefix(settings, eventStoreUrl),
    /** Unset: the embedded document store in `dataDir`. */
    mongoUrl,
    /** Without `mail` if no mail is configured. */
    roles,
    ...mail,
    serviceFeePercent:
      read('SERVICE_FEE_PERCENT', 'a percentage, 0 to 100', (percent) => upTo(decimal(percent), 100)) ?? 15,
    /** ISO 4217. */
    currency: read('CURRENCY', 'an ISO 4217 code such as USD', oneOf(Intl.supportedValuesOf('currency'))) ?? 'USD',
    /** How many unanswered requests a brand may have at once. Undefined: any number. */
    pendingLimit: quota('PENDING_LIMIT') ?? (text('SIGN_UP') === 'brands' ? STRANGERS_PENDING : undefined),
    /** The console asks once more before it approves a request with a higher total. Undefined: it never does. */
    approveConfirmAbove: read('APPROVE_CONFIRM_ABOVE', 'an amount such as 5000 or 5000.00', parseAmount),
    /** 32 bytes that seal secrets at rest. */
    secretKey: readSecretKey(settings, embedded, dataDir),
    webhooksAllowPrivate: flag('WEBHOOKS_ALLOW_PRIVATE') ?? false,
    /** What may sign up without an invitation. Undefined: nothing. */
    signUp: signUp(settings, { demo, hasMail: mail.smtp !== undefined || mail.mailInbox }),
    /** Sign-ups that are taken in a day, from everywhere. */
    signUpsPerDay: count('SIGN_UPS_PER_DAY', 100_000) ?? 1_000,
    /** OAuth clients that may register themselves per network and hour. */
    registrationsPerHour: count('REGISTRATIONS_PER_HOUR', 100_000) ?? 120,
    /** Webhook registrations an account may have. */
    webhooksPerAccount: quota('WEBHOOKS_PER_ACCOUNT') ?? 100,
    /** API keys an account may have that are not revoked. */
    apiKeysPerAccount: quota('API_KEYS_PER_ACCOUNT') ?? 100,
    /** Service clients an account may have. */
    clientsPerAccount: quota('CLIENTS_PER_ACCOUNT') ?? 50,
    /** Spaces a community may have, closed ones included. */
    spacesPerCommunity: quota('SPACES_PER_COMMUNITY') ?? 200,
    /** What the photos of a community may take in the store, in bytes. */
    photoBytesPerCommunity: count('PHOTO_BYTES_PER_COMMUNITY', 1_000_000_000_000) ?? 200_000_000,
    /** What one account may write to the log in a day: events, and bytes of their data. */
    accountPerDay: {
      events: count('ACCOUNT_EVENTS_PER_DAY', 1_000_000_000) ?? 500_000,
      bytes: count('ACCOUNT_BYTES_PER_DAY', 1_000_000_000_000) ?? 250_000_000,
    },
    /** Forms that the users of an account may submit in the console within a minute. */
    consoleWritesPerMinute: quota('CONSOLE_WRITES_PER_MINUTE') ?? 120,
    /** How long after a test delivery the console sends the next one to the same webhook, in milliseconds. */
    testDeliveryIntervalMs: duration('TEST_DELIVERY_INTERVAL', 'PT1H') ?? 1_000,
    demo,
    logLevel: read('LOG_LEVEL', `one of ${LOG_LEVELS.join(', ')}`, oneOf(LOG_LEVELS)) ?? 'info',
    /** Whether the log also has a line about each read that succeeds quickly. */
    logReads: flag('LOG_READS') ?? false,
    /** Milliseconds added to the clock. */
    clockShift: read('CLOCK_SHIFT', 'an ISO 8601 duration such as PT36H or -P2D', milliseconds) ?? 0,
    /** Distinguishes machines with the same host name; `runtime/process-liveness.ts` reads it, too. */
    place: read('PLACE', '1 to 64 letters, digits or any of . : _ -', matching(/^[\w.:-]{1,64}$/)),
    /** How long the service still accepts requests after SIGTERM, so that load balancers see `/readyz` fail first. */
    drainMs: duration('DRAIN', 'PT1M') ?? 1_000,
    /** The URL that receives every checkpoint of the log. */
    sealWebhook: httpUrl(settings, 'SEAL_WEBHOOK'),
    /** The actor id of the operator's commands. */
    operator:
      read('VENUE_OPERATOR', '1 to 64 of a-z, 0-9, ".", "_" and "-"', matching(/^[a-z0-9._-]{1,64}$/)) ?? OPERATOR.id,
    /** The file that every checkpoint of the log is appended to. */
    sealFile: text('SEAL_FILE'),
    /** Whether `sealFile` also gets the hash of every event. */
    sealFileLeaves: sealFileLeaves(settings),
    /** How long an unused read model is kept, such as one of an earlier release, in milliseconds. */
    retireAfterMs: duration('RETIRE_AFTER', 'PT8760H') ?? 24 * 3_600_000,
  };
}

/** Where strangers may sign up: a Pending request holds its hours. */
const STRANGERS_PENDING = 20;

/** Signing up needs mail, to confirm the address. In the demo it is on. */
function signUp(
  { read }: Settings,
  { demo, hasMail }: { readonly demo: boolean; readonly hasMail: boolean },
): 'brands' | undefined {
  const chosen = read('SIGN_UP', 'brands or off', (text) => (text === 'brands' || text === 'off' ? text : undefined));
  if (chosen === 'brands' && !hasMail)
    throw new ConfigError('SIGN_UP', 'requires SMTP_URL or MAIL_INBOX, because an address is confirmed by mail');
  return (chosen ?? (demo && hasMail ? 'brands' : 'off')) === 'brands' ? 'brands' : undefined;
}

/** @param port the other port that this process listens on */
function metricsPort({ count }: Settings, port: number | undefined): number | undefined {
  const chosen = count('METRICS_PORT', MAX_PORT, 'a port');
  if (chosen !== undefined && chosen === port) throw new ConfigError('METRICS_PORT', `must differ from PORT, ${port}`);
  return chosen;
}

/** Parsed like the clients parse it. The message omits the value, which may contain a password. */
function httpUrl({ text }: Settings, name: string): string | undefined {
  const given = url({ name, text: text(name) }, ['https:', 'http:']);
  if (given === undefined || URL.canParse(given)) return given;
  throw new ConfigError(name, 'must be an absolute URL');
}

function sealFileLeaves({ flag, text }: Settings): boolean {
  const leaves = flag('SEAL_FILE_LEAVES') ?? false;
  if (leaves && text('SEAL_FILE') === undefined) throw new ConfigError('SEAL_FILE_LEAVES', 'requires SEAL_FILE');
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
function rolesIn(text: string | undefined, hasMail: boolean): ReadonlySet<Role> {
  const named = text?.split(',').map((role) => role.trim()) ?? ROLES;
  const wrong = named.find((role) => !(ROLES as readonly string[]).includes(role));
  if (wrong !== undefined) throw new ConfigError('ROLES', `unknown role "${wrong}"; roles are ${ROLES.join(', ')}`);
  const runs = new Set(named as Role[]);
  if (!hasMail) runs.delete('mail');
  if (runs.size === 0) throw new ConfigError('ROLES', 'the role mail requires SMTP_URL or MAIL_INBOX');
  return runs;
}

function eventStorePrefix({ text, read }: Settings, eventStoreUrl: string | undefined): string | undefined {
  if (text('EVENTSTORE_PREFIX') !== undefined && eventStoreUrl === undefined)
    throw new ConfigError('EVENTSTORE_PREFIX', 'requires EVENTSTORE_URL');
  const rule = '1 to 64 letters, digits, _ or -, the first a letter or a digit';
  return read('EVENTSTORE_PREFIX', rule, matching(/^[A-Za-z0-9][\w-]{0,63}$/));
}
