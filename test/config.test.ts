import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ConfigError, readConfig } from '../src/config.ts';

function dataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'venue-booking-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

const KEY = Buffer.alloc(32, 7);

test.each([
  ['PORT', '0'],
  ['PORT', '65536'],
  ['PORT', '80.5'],
  ['PORT', 'http'],
  ['PUBLIC_URL', 'booking.example'],
  ['PUBLIC_URL', 'https://booking.example/api'],
  ['PUBLIC_URL', 'ftp://booking.example'],
  ['TRUST_PROXY', 'true'],
  ['TRUST_PROXY', '10.0.0.0/33'],
  ['EVENTSTORE_URL', 'http://localhost:2113'],
  ['MONGODB_URL', 'localhost:27017'],
  ['ROLES', 'api,worker'],
  ['SERVICE_FEE_PERCENT', '-1'],
  ['SERVICE_FEE_PERCENT', '101'],
  ['SERVICE_FEE_PERCENT', 'fifteen'],
  ['CURRENCY', 'dollars'],
  ['SECRET_KEY', 'short'],
  ['WEBHOOKS_ALLOW_PRIVATE', 'yes'],
  ['DEMO', '1'],
  ['LOG_LEVEL', 'loud'],
  ['CLOCK_SHIFT', 'tomorrow'],
  ['CLOCK_SHIFT', 'P1M'],
  ['DATA_DIR', '/dev/null/nowhere'],
])('%s=%s is wrong, and the message says so in one line', (variable, value) => {
  const read = () => readConfig({ DATA_DIR: dataDir(), [variable]: value });
  expect(read).toThrow(ConfigError);
  expect(read).toThrow(new RegExp(`^${variable}: .+$`));
});

test.each([
  ['ROLES', 'api,worker', 'unknown role "worker"; roles are api, projector, webhooks, scheduler'],
  ['TRUST_PROXY', '10.0.0.0/8, proxy', 'must list IP addresses or networks such as 10.0.0.0/8, got "proxy"'],
  ['DEMO', 'yes', 'must be true or false, got "yes"'],
  ['PORT', 'http', 'must be a port, 1 to 65535, got "http"'],
  ['MONGODB_URL', 'user:password@host', 'must start with mongodb:// or mongodb+srv://'],
])('%s=%s: %s', (variable, value, problem) => {
  expect(() => readConfig({ DATA_DIR: dataDir(), [variable]: value })).toThrow(`${variable}: ${problem}`);
});

test('unset, every setting has its default', () => {
  const folder = dataDir();
  expect(readConfig({ DATA_DIR: folder, PORT: ' ' })).toEqual({
    port: 3000,
    host: '127.0.0.1',
    publicUrl: 'http://localhost:3000',
    trustProxy: [],
    dataDir: folder,
    eventStoreUrl: undefined,
    mongoUrl: undefined,
    roles: new Set(['api', 'projector', 'webhooks', 'scheduler']),
    serviceFeePercent: 15,
    currency: 'USD',
    secretKey: Buffer.from(readFileSync(join(folder, 'secret.key'), 'utf8'), 'base64'),
    webhooksAllowPrivate: false,
    demo: true,
    logLevel: 'info',
    clockShift: 0,
  });
});

test('the secret key is made once and readable by its owner only', () => {
  const folder = dataDir();
  const { secretKey } = readConfig({ DATA_DIR: folder });
  expect(secretKey).toHaveLength(32);
  expect(readConfig({ DATA_DIR: folder }).secretKey).toEqual(secretKey);
  expect(statSync(join(folder, 'secret.key')).mode & 0o777).toBe(0o600);
});

test('the production engines need a secret key that is given, and take no demo data', () => {
  const production = { EVENTSTORE_URL: 'esdb://localhost:2113', DATA_DIR: dataDir() };
  expect(() => readConfig(production)).toThrow(/^SECRET_KEY: /);
  expect(() => readConfig({ ...production, SECRET_KEY: KEY.toString('base64'), DEMO: 'true' })).toThrow(/^DEMO: /);
  const config = readConfig({ ...production, SECRET_KEY: KEY.toString('hex') });
  expect(config).toMatchObject({ secretKey: KEY, demo: false });
});

test('a clock shift is an ISO 8601 duration, in either direction', () => {
  expect(readConfig({ DATA_DIR: dataDir(), CLOCK_SHIFT: '-P1DT2H' }).clockShift).toBe(-26 * 3_600_000);
});
