import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { createFairQueue } from '../event-loop/fair-queue.ts';
import { blockOf } from './networks.ts';

/** The OWASP Password Storage recommendation: argon2id with 19 MiB, two passes, one lane. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const;
const SALT_BYTES = 16;

const derive = promisify(argon2);

/**
 * Hashes at once. Each occupies a processor and one of the four threads that also compress answers: with more, pages would wait for them, and no
 * more hashes would be made.
 */
const HASHES_AT_ONCE = 2;
/** Shorter than a request may take. */
const BEGUN_WITHIN_MS = 8_000;
const queue = createFairQueue({ atOnce: HASHES_AT_ONCE, withinMs: BEGUN_WITHIN_MS });

/**
 * Hashes a password with argon2id, off the main thread.
 * @param from the address that it came from: blocks of addresses take turns. Default: not from a network
 * @returns a PHC string
 */
export async function hashPassword(password: string, from = ''): Promise<string> {
  const { memory, passes, parallelism } = PARAMETERS;
  const nonce = randomBytes(SALT_BYTES);
  const tag = await queue.run(blockOf(from), () =>
    derive('argon2id', { ...PARAMETERS, message: normalised(password), nonce }),
  );
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

/**
 * Compares a password with a hash made by {@link hashPassword}. Without a hash (no such user) it takes just as long and returns
 * false, so that timing reveals nothing.
 */
export async function isPassword(password: string, hash: string | undefined, from = ''): Promise<boolean> {
  const parsed = hash === undefined ? DUMMY : parse(hash);
  const { tag, ...parameters } = parsed;
  const derived = await queue.run(blockOf(from), () =>
    derive('argon2id', { ...parameters, tagLength: tag.length, message: normalised(password) }),
  );
  return timingSafeEqual(derived, tag) && hash !== undefined;
}

type Parsed = { memory: number; passes: number; parallelism: number; nonce: Buffer; tag: Buffer };

const DUMMY: Parsed = { ...PARAMETERS, nonce: randomBytes(SALT_BYTES), tag: randomBytes(PARAMETERS.tagLength) };

function parse(hash: string): Parsed {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(hash);
  if (match === null) throw new Error('Not a password hash');
  const [, memory, passes, parallelism, nonce = '', tag = ''] = match;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(nonce, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

// Different keyboards may produce different code points for the same characters.
const normalised = (password: string) => Buffer.from(password.normalize('NFKC'));
const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');
