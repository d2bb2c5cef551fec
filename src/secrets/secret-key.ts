/**
 * The secret key of the service, 32 bytes. While it is being replaced there are several: the first one seals, the others are former
 * ones and only open what was sealed before (docs/decisions/credentials.md).
 */
export type SecretKey = Buffer | readonly [Buffer, ...Buffer[]];

/** All of them, the one that seals first. */
export const keysIn = (secretKey: SecretKey): readonly [Buffer, ...Buffer[]] =>
  Buffer.isBuffer(secretKey) ? [secretKey] : secretKey;

/** The one that seals. */
export const currentKey = (secretKey: SecretKey): Buffer => keysIn(secretKey)[0];
