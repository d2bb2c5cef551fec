import { hkdfSync } from 'node:crypto';
import { currentKey, type SecretKey } from './secret-key.ts';

/**
 * Derives a 32-byte key for one purpose from the service's secret key (HKDF-SHA-256), so that no two purposes share a key
 * (docs/decisions/credentials.md).
 */
export const derivedKey = (secretKey: SecretKey, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', currentKey(secretKey), '', purpose, 32));
