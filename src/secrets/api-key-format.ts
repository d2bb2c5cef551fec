import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** The prefix of every live key (docs/guides/rest-api.md#api-keys). */
export const API_KEY_PREFIX = 'vbs_live_';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 32;
const CHECKSUM_LENGTH = 6;
const LENGTH = API_KEY_PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH;

/** Generates a key: prefix, 32 random base62 characters (190 bits), 6-character checksum (docs/decisions/credentials.md). */
export function makeApiKey(): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return `${API_KEY_PREFIX}${random}${checksum(random)}`;
}

/** Whether a text has the format of a key, checksum included. Saves the look-up of a mistyped one. */
export function isApiKey(text: string): boolean {
  const isShaped = text.length === LENGTH && text.startsWith(API_KEY_PREFIX);
  if (!isShaped || !/^[0-9A-Za-z]+$/.test(text.slice(API_KEY_PREFIX.length))) return false;
  const random = text.slice(API_KEY_PREFIX.length, -CHECKSUM_LENGTH);
  return text.endsWith(checksum(random));
}

/** The SHA-256 of a key in hex, which is stored instead of the key. */
export const hashApiKey = (key: string): string => hash('sha256', key, 'hex');

/** The first characters of a key, so that people can tell their keys apart. */
export const previewApiKey = (key: string): string => `${key.slice(0, API_KEY_PREFIX.length + 4)}…`;

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
