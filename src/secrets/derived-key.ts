import { hkdfSync } from 'node:crypto';

/** A key of 32 bytes for one purpose, derived from the service's secret key (HKDF-SHA-256): no two purposes share one. */
export const derivedKey = (secretKey: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretKey, '', purpose, 32));
