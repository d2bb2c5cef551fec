import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { createRandom } from '../soak/random.ts';
import { virtualNow } from './virtual-time.ts';

let random = createRandom(0);
let since = 0;

/** From now on, what the service takes for random follows from a seed. */
export function seedRandomness(seed: number): void {
  random = createRandom(seed);
  since = virtualNow();
}

const bytes = (size: number): Buffer => Buffer.from(Array.from({ length: size }, () => random.between(0, 255)));

function uuid(version: number, hex: string): string {
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `${version}${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20),
  ];
  return parts.join('-');
}
const randomUUID = () => uuid(4, bytes(16).toString('hex'));
const randomUUIDv7 = () => uuid(7, (virtualNow() - since).toString(16).padStart(12, '0') + bytes(10).toString('hex'));

/** Replaces what is random, and what Node computes in threads of its own, before the service is imported. */
export function installSeededCrypto(): void {
  const { hash } = crypto;
  type Done = (error: null, tag: Buffer) => void;
  Object.assign(crypto, {
    randomBytes: bytes,
    randomUUID,
    randomUUIDv7,
    randomInt: (from: number, below?: number) =>
      below === undefined ? random.between(0, from - 1) : random.between(from, below - 1),
    argon2: (_: string, { message, nonce }: { message: Buffer; nonce: Buffer }, done: Done) =>
      queueMicrotask(() => done(null, hash('sha256', Buffer.concat([message, nonce]), 'buffer'))),
  });
  Object.assign(globalThis.crypto, { randomUUID });
  Math.random = () => random.between(0, 2 ** 31 - 1) / 2 ** 31;
  syncBuiltinESMExports();
}
