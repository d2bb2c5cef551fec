import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;

/**
 * The format of a kind of credential: prefix, 32 random base62 characters (190 bits), 6-character checksum (docs/decisions/credentials.md).
 */
function credentialFormat(prefix: string) {
  const length = prefix.length + RANDOM_LENGTH + CHECKSUM_LENGTH;
  return {
    prefix,

    make(): string {
      const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
      return `${prefix}${random}${checksum(random)}`;
    },

    /** Whether a text has the format, checksum included. Saves the look-up of a mistyped one. */
    matches(text: string): boolean {
      const isShaped = text.length === length && text.startsWith(prefix);
      if (!isShaped || !/^[0-9A-Za-z]+$/.test(text.slice(prefix.length))) return false;
      const random = text.slice(prefix.length, -CHECKSUM_LENGTH);
      return text.endsWith(checksum(random));
    },

    /** The SHA-256 of a credential in hex, which is stored instead of it. */
    hash: (credential: string): string => hash('sha256', credential, 'hex'),

    /** The first characters, so that people can tell theirs apart. */
    preview: (credential: string): string => `${credential.slice(0, prefix.length + 4)}…`,
  };
}

/** The CRC-32 in six base62 digits. */
function checksum(random: string): string {
  let rest = crc32(random);
  let digits = '';
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit += 1) {
    digits = ALPHABET[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** API keys (docs/guides/rest-api.md#api-keys). */
export const apiKeyFormat = credentialFormat('vbs_live_');

/** The secrets in the addresses of calendar feeds. */
export const feedSecretFormat = credentialFormat('vbs_feed_');
