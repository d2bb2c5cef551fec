import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { closeStores, openStores } from '../src/engines.ts';
import { ConfigError } from '../src/runtime/config-error.ts';

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
    publicUrl: 'http://localhost:3000',
    trustProxy: [],
    dataDir: folder,
    eventStoreUrl: undefined,
    eventStorePrefix: undefined,
    mongoUrl: undefined,
    roles: new Set(['api', 'projector', 'webhooks', 'scheduler']),
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
    apiKeysPerAccount: 100,
    clientsPerAccount: 50,
    spacesPerCommunity: 200,
    consoleWritesPerMinute: 120,
    testDeliveryIntervalMs: 1_000,
    operator: 'cli',
    demo: true,
    logLevel: 'info',
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
