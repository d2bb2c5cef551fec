import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { closeStores, openStores } from '../src/engines.ts';
import { ConfigError } from '../src/runtime/config-error.ts';
import { secretKeyFile } from '../src/settings/secret-key.ts';

function dataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'venue-booking-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test('without variables, every setting has its default', () => {
  const folder = dataDir();
  expect(readConfig({ DATA_DIR: folder, PORT: ' ' })).toEqual({
    port: 3000,
    host: '127.0.0.1',
    metricsPort: undefined,
    metricsHost: '127.0.0.1',
    publicUrl: 'http://localhost:3000',
    trustProxy: [],
    dataDir: folder,
    eventStoreUrl: undefined,
    eventStorePrefix: undefined,
    mongoUrl: undefined,
    roles: new Set(['api', 'projector', 'webhooks', 'scheduler', 'mail']),
    smtp: undefined,
    mailInbox: true,
    serviceFeePercent: 15,
    currency: 'USD',
    secretKey: Buffer.from(readFileSync(join(folder, 'secret.key'), 'utf8'), 'base64'),
    place: undefined,
    sealWebhook: undefined,
    sealFile: undefined,
    sealFileLeaves: false,
    webhooksAllowPrivate: false,
    webhooksPerAccount: 100,
    registrationsPerHour: 120,
    accountPerDay: { events: 500_000, bytes: 250_000_000 },
    apiKeysPerAccount: 100,
    clientsPerAccount: 50,
    spacesPerCommunity: 200,
    signUp: 'brands',
    signUpsPerDay: 1_000,
    photoBytesPerCommunity: 200_000_000,
    consoleWritesPerMinute: 120,
    testDeliveryIntervalMs: 1_000,
    operator: 'cli',
    demo: true,
    logLevel: 'info',
    logReads: false,
    clockShift: 0,
    drainMs: 1_000,
    retireAfterMs: 24 * 3_600_000,
  });
});

test('the secret key is created once and readable by its owner only', () => {
  const folder = dataDir();
  const { secretKey } = readConfig({ DATA_DIR: folder });
  expect(secretKey).toHaveLength(32);
  expect(readConfig({ DATA_DIR: folder }).secretKey).toEqual(secretKey);
  expect(statSync(join(folder, 'secret.key')).mode & 0o777).toBe(0o600);
});

test('DATA_DIR is created for its owner only, with or without a key in it', async () => {
  const logger = pino({ level: 'silent' });
  const folders = [join(dataDir(), 'made', 'by the key'), join(dataDir(), 'made by the engines')];
  const [byKey = '', byEngines = ''] = folders;
  readConfig({ DATA_DIR: byKey });
  const config = readConfig({ DATA_DIR: byEngines, SECRET_KEY: 'a'.repeat(64) });
  await closeStores(await openStores(config, logger));
  expect(folders.map((folder) => statSync(folder).mode & 0o777)).toEqual([0o700, 0o700]);
});

test.each(['/dev/null/nowhere', '/proc/nowhere/data'])('a DATA_DIR %s is refused with a one-line message', (folder) => {
  expect(() => readConfig({ DATA_DIR: folder })).toThrow(ConfigError);
  expect(() => readConfig({ DATA_DIR: folder })).toThrow(/^DATA_DIR: .+$/);
});

test('a secret is read from the file that a setting names, without the white space around it', () => {
  const folder = dataDir();
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const [key, other] = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)];
  const texts = {
    SECRET_KEYS_FILE: `${key.toString('base64')},${other.toString('hex')}\n`,
    EVENTSTORE_URL_FILE: ' esdb://user:password@localhost:2113?tls=false\r\n',
    MONGODB_URL_FILE: 'mongodb://user:password@localhost/venue\n\n',
    SMTP_URL_FILE: 'smtp://user:password@localhost\n',
  };
  const settings = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, file(name, text)]));
  expect(readConfig({ ...settings, MAIL_FROM: 'a@example.com' })).toMatchObject({
    smtp: { url: 'smtp://user:password@localhost' },
    secretKey: [key, other],
    eventStoreUrl: 'esdb://user:password@localhost:2113?tls=false',
    mongoUrl: 'mongodb://user:password@localhost/venue',
    demo: false,
  });
  const SECRET_KEY_FILE = file('key', `${key.toString('base64')}\n`);
  expect(readConfig({ SECRET_KEY_FILE }).secretKey).toEqual(key);
  expect(secretKeyFile({ SECRET_KEY_FILE })).toBeUndefined();
  expect(secretKeyFile({ DATA_DIR: folder, SMTP_URL: 'smtp://localhost' })).toBe(join(folder, 'secret.key'));

  const problemOf = (env: Readonly<Record<string, string>>) => {
    expect(() => readConfig(env)).toThrow(ConfigError);
    try {
      return String(readConfig(env));
    } catch (error) {
      return error instanceof Error ? error.message.replaceAll(folder, '') : '';
    }
  };
  const SECRET_KEY = key.toString('base64');
  expect([
    problemOf({ SECRET_KEY, SECRET_KEY_FILE }),
    problemOf({ SECRET_KEYS: `${SECRET_KEY},${other.toString('hex')}`, SECRET_KEY_FILE }),
    problemOf({ SECRET_KEY, MONGODB_URL: 'mongodb://localhost/venue', MONGODB_URL_FILE: '/nowhere' }),
    problemOf({ SECRET_KEY_FILE: file('empty', ' \n') }),
    problemOf({ SECRET_KEY_FILE: join(folder, 'missing') }),
    problemOf({ SECRET_KEY_FILE: folder }),
    problemOf({ SECRET_KEY_FILE: '/dev/zero' }),
    problemOf({ SECRET_KEY_FILE: file('short', 'c2hvcnQ=') }),
    problemOf({ SECRET_KEY, EVENTSTORE_URL_FILE: file('url', 'http://user:password@localhost') }),
  ]).toEqual([
    'SECRET_KEY_FILE: replaces SECRET_KEY: set only one of them',
    'SECRET_KEYS: replaces SECRET_KEY_FILE: set only one of them',
    'MONGODB_URL_FILE: replaces MONGODB_URL: set only one of them',
    'SECRET_KEY_FILE: /empty is empty',
    "SECRET_KEY_FILE: cannot be read: ENOENT: no such file or directory, stat '/missing'",
    'SECRET_KEY_FILE:  is not a file',
    'SECRET_KEY_FILE: /dev/zero is not a file',
    'SECRET_KEY_FILE: must be 32 bytes in base64 or hex',
    'EVENTSTORE_URL_FILE: must start with esdb:// or esdb+discover:// or kurrentdb:// or kurrentdb+discover://',
  ]);
});
