import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { currentKey, keysIn, type SecretKey } from './secret-key.ts';

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a small secret for storage (AES-256-GCM with a fresh nonce; docs/decisions/credentials.md).
 * @param key `config.secretKey`, or another key of 32 bytes; of several keys, the first one seals
 * @param purpose what the secret is for, down to the record that owns it (`webhook:wh_1`); a value sealed for one
 *   purpose cannot be moved to another
 * @returns printable text
 */
export function seal(key: SecretKey, purpose: string, plain: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, currentKey(key), nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(purpose));
  const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${VERSION}.${sealed.toString('base64url')}`;
}

/**
 * Reverses {@link seal}, with any of the keys.
 * @throws {Error} if the text was tampered with, truncated, or sealed under none of the keys or for another purpose
 */
export function unseal(key: SecretKey, purpose: string, sealed: string): string {
  const [version, body, ...rest] = sealed.split('.');
  const bytes = Buffer.from(body ?? '', 'base64url');
  if (version !== VERSION || rest.length > 0 || bytes.length < NONCE_BYTES + TAG_BYTES)
    throw new Error(`Not a sealed value (${purpose})`);
  for (const each of keysIn(key)) {
    const plain = opened(each, purpose, bytes);
    if (plain !== undefined) return plain;
  }
  throw new Error(`A sealed value cannot be opened: wrong key, wrong purpose, or it was modified (${purpose})`);
}

/** Whether one of the keys opens a value that was sealed for the purpose. */
export function opens(key: SecretKey, purpose: string, sealed: string): boolean {
  try {
    unseal(key, purpose, sealed);
    return true;
  } catch {
    return false;
  }
}

function opened(key: Buffer, purpose: string, bytes: Buffer): string | undefined {
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(purpose));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return undefined;
  }
}
