import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { writePrivate } from './runtime/private-file.ts';

export const ROLES = ['api', 'projector', 'webhooks', 'scheduler'] as const;
export type Role = (typeof ROLES)[number];

/** The service's settings; README has the table. */
export type Config = {
  readonly port: number;
  readonly host: string;
  /** Origin under which people and programs reach the service; no trailing slash. It is the OAuth issuer. */
  readonly publicUrl: string;
  /** Addresses of reverse proxies whose `X-Forwarded-For` says who calls; limits count by that. */
  readonly trustProxy: readonly string[];
  readonly dataDir: string;
  /** Unset: the embedded event store in `dataDir`. */
  readonly eventStoreUrl: string | undefined;
  /** Unset: the embedded document store in `dataDir`. */
  readonly mongoUrl: string | undefined;
  readonly roles: ReadonlySet<Role>;
  readonly serviceFeePercent: number;
  /** ISO 4217. */
  readonly currency: string;
  /** 32 bytes that seal secrets at rest. */
  readonly secretKey: Buffer;
  readonly webhooksAllowPrivate: boolean;
  readonly demo: boolean;
  readonly logLevel: string;
  /** Added to the clock, in milliseconds. */
  readonly clockShift: number;
};

/** A setting is missing or wrong. The message is one line and names the variable. */
export class ConfigError extends Error {
  constructor(variable: string, problem: string) {
    super(`${variable}: ${problem}`);
    this.name = 'ConfigError';
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Reads the configuration from the environment. Makes `DATA_DIR` and, on the embedded engines, the secret key in it.
 * @throws {ConfigError} naming the variable that is wrong
 */
export function readConfig(env: Environment): Config {
  const value = (name: string): string | undefined => {
    const text = env[name]?.trim();
    return text === '' ? undefined : text;
  };
  const port = number(value, 'PORT', 3000, (n) => Number.isInteger(n) && n >= 1 && n <= 65_535, 'a port, 1 to 65535');
  const dataDir = value('DATA_DIR') ?? './data';
  const eventStoreUrl = url(value, 'EVENTSTORE_URL', ['esdb:', 'esdb+discover:', 'kurrentdb:', 'kurrentdb+discover:']);
  const mongoUrl = url(value, 'MONGODB_URL', ['mongodb:', 'mongodb+srv:']);
  const embedded = eventStoreUrl === undefined && mongoUrl === undefined;

  return {
    port,
    host: value('HOST') ?? '127.0.0.1',
    publicUrl: origin(value('PUBLIC_URL') ?? `http://localhost:${port}`),
    trustProxy: proxies(value('TRUST_PROXY')),
    dataDir,
    eventStoreUrl,
    mongoUrl,
    roles: roles(value('ROLES')),
    serviceFeePercent: number(value, 'SERVICE_FEE_PERCENT', 15, (n) => n >= 0 && n <= 100, 'a percentage, 0 to 100'),
    currency: currency(value('CURRENCY') ?? 'USD'),
    secretKey: secretKey(value('SECRET_KEY'), embedded, dataDir),
    webhooksAllowPrivate: flag(value, 'WEBHOOKS_ALLOW_PRIVATE', false),
    demo: demo(value, embedded),
    logLevel: oneOf(value, 'LOG_LEVEL', 'info', LOG_LEVELS),
    clockShift: clockShift(value('CLOCK_SHIFT')),
  };
}

type Value = (name: string) => string | undefined;

function number(value: Value, name: string, preset: number, fits: (n: number) => boolean, rule: string): number {
  const text = value(name);
  if (text === undefined) return preset;
  const parsed = Number(text);
  if (!Number.isFinite(parsed) || !fits(parsed)) throw new ConfigError(name, `must be ${rule}, is "${text}"`);
  return parsed;
}

function flag(value: Value, name: string, preset: boolean): boolean {
  const text = value(name);
  if (text === undefined) return preset;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ConfigError(name, `must be true or false, is "${text}"`);
}

function oneOf(value: Value, name: string, preset: string, allowed: readonly string[]): string {
  const text = value(name) ?? preset;
  if (allowed.includes(text)) return text;
  throw new ConfigError(name, `must be one of ${allowed.join(', ')}, is "${text}"`);
}

function url(value: Value, name: string, protocols: readonly string[]): string | undefined {
  const text = value(name);
  if (text === undefined || protocols.some((protocol) => text.startsWith(`${protocol}//`))) return text;
  throw new ConfigError(name, `must start with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`);
}

function origin(text: string): string {
  if (!URL.canParse(text)) throw new ConfigError('PUBLIC_URL', `must be an absolute URL, is "${text}"`);
  const parsed = new URL(text);
  const isOrigin = /^https?:$/.test(parsed.protocol) && text.replace(/\/$/, '') === parsed.origin;
  if (!isOrigin) throw new ConfigError('PUBLIC_URL', `must be an http(s) origin without a path, is "${text}"`);
  return parsed.origin;
}

function proxies(text: string | undefined): readonly string[] {
  const named = text?.split(',').map((address) => address.trim()) ?? [];
  const wrong = named.find((address) => !isNetwork(address));
  if (wrong === undefined) return named;
  throw new ConfigError(
    'TRUST_PROXY',
    `must be a list of IP addresses or networks such as 10.0.0.0/8; "${wrong}" is none`,
  );
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : undefined;
  if (bits === undefined || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

function roles(text: string | undefined): ReadonlySet<Role> {
  if (text === undefined) return new Set(ROLES);
  const named = text.split(',').map((role) => role.trim());
  const wrong = named.find((role) => !(ROLES as readonly string[]).includes(role));
  if (wrong !== undefined) throw new ConfigError('ROLES', `must be a list of ${ROLES.join(', ')}; "${wrong}" is none`);
  return new Set(named as Role[]);
}

function currency(text: string): string {
  if (Intl.supportedValuesOf('currency').includes(text)) return text;
  throw new ConfigError('CURRENCY', `must be an ISO 4217 code such as USD, is "${text}"`);
}

/** In the environment: 32 bytes as base64 or hex. Embedded engines only: made once and kept in `DATA_DIR`, mode 0600. */
function secretKey(text: string | undefined, embedded: boolean, dataDir: string): Buffer {
  if (text !== undefined) {
    const key = /^[0-9a-f]{64}$/i.test(text) ? Buffer.from(text, 'hex') : Buffer.from(text, 'base64');
    if (key.length !== 32) throw new ConfigError('SECRET_KEY', 'must be 32 bytes, written in base64 or hex');
    return key;
  }
  if (!embedded)
    throw new ConfigError('SECRET_KEY', 'is required with EVENTSTORE_URL or MONGODB_URL (32 bytes, base64)');
  try {
    mkdirSync(dataDir, { recursive: true });
    const file = join(dataDir, 'secret.key');
    if (!existsSync(file)) {
      try {
        writePrivate(file, randomBytes(32).toString('base64'), 'new');
      } catch (error) {
        // Another process of the machine made it a moment ago.
        if (!existsSync(file)) throw error;
      }
    }
    const key = Buffer.from(readFileSync(file, 'utf8'), 'base64');
    if (key.length !== 32) throw new ConfigError('SECRET_KEY', `${file} does not hold 32 bytes in base64`);
    return key;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError('DATA_DIR', `cannot be used: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function demo(value: Value, embedded: boolean): boolean {
  const wanted = flag(value, 'DEMO', embedded);
  if (wanted && !embedded) throw new ConfigError('DEMO', 'demo data is for the embedded engines only');
  return wanted;
}

function clockShift(text: string | undefined): number {
  if (text === undefined) return 0;
  try {
    // Days count 24 hours here, months and years are refused: a shift has one length.
    return Temporal.Duration.from(text).total('milliseconds');
  } catch {
    throw new ConfigError('CLOCK_SHIFT', `must be an ISO 8601 duration such as PT36H or -P2D, is "${text}"`);
  }
}
