import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '../runtime/config-error.ts';
import { FOLDER_OWNER_ONLY, writePrivate } from '../runtime/private-file.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { type Environment, type Given, type Settings, settingsIn } from './settings.ts';

export const DEFAULT_DATA_DIR = './data';
const SECRET_KEY_FILE = 'secret.key';

/** With one of them, no file in `DATA_DIR` holds the secret key. */
const INSTEAD_OF_KEY_FILE = ['SECRET_KEY', 'SECRET_KEYS', 'EVENTSTORE_URL', 'MONGODB_URL'];

/** The file of the secret key; undefined if a setting holds the key, or an engine is external. */
export function secretKeyFile(env: Environment): string | undefined {
  const { text } = settingsIn(env);
  const isSet = (name: string) => text(name) !== undefined || text(`${name}_FILE`) !== undefined;
  return INSTEAD_OF_KEY_FILE.some(isSet) ? undefined : join(text('DATA_DIR') ?? DEFAULT_DATA_DIR, SECRET_KEY_FILE);
}

/** `SECRET_KEYS` lists several keys during a rotation. The first one seals (docs/decisions/credentials.md). */
export function readSecretKey({ secret }: Settings, embedded: boolean, dataDir: string): SecretKey {
  const [one, several] = [secret('SECRET_KEY'), secret('SECRET_KEYS')];
  if (several.text === undefined) return singleKey(one, embedded, dataDir);
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
function singleKey({ name, text }: Given, embedded: boolean, dataDir: string): Buffer {
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
