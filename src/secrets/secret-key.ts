/**
 * The secret key of the service, 32 bytes. While it is being replaced there are several: the first one seals, the others are former
 * ones and only open what was sealed before (docs/decisions/credentials.md).
 */
export type SecretKey = Buffer | readonly [Buffer, ...Buffer[]];

/** A secret key that comes from another thread, where buffers arrive as plain bytes. */
export function secretKeyOf(received: Uint8Array | readonly [Uint8Array, ...Uint8Array[]]): SecretKey {
  if (received instanceof Uint8Array) return Buffer.from(received);
  const [current, ...former] = received;
  return [Buffer.from(current), ...former.map((key) => Buffer.from(key))];
}

/** All of them, the one that seals first. */
export const keysIn = (secretKey: SecretKey): readonly [Buffer, ...Buffer[]] =>
  Buffer.isBuffer(secretKey) ? [secretKey] : secretKey;

/** The one that seals. */
export const currentKey = (secretKey: SecretKey): Buffer => keysIn(secretKey)[0];
